import { expect, it } from "vitest";
import type { PodView } from "../../core/views";
import { isOwnedBy, withAudiences } from "./pods";

const web = { kind: "Deployment", namespace: "team", name: "web", uid: "w" };
const pod = (kind: string, name: string, uid: string): PodView =>
  ({ namespace: "team", labels: { "pod-template-hash": "5d" }, owner: { kind, name, uid } }) as unknown as PodView;

it.each([
  ["a Deployment's, by ReplicaSet and template hash", web, pod("ReplicaSet", "web-5d", "x"), true],
  ["not those of web-5d, whose ReplicaSet has the same beginning", web, pod("ReplicaSet", "web-5d-5d", "x"), false],
  ["not those of a standalone ReplicaSet", web, pod("ReplicaSet", "web", "x"), false],
  ["not those of another namespace", { ...web, namespace: "other" }, pod("ReplicaSet", "web-5d", "x"), false],
  ["a StatefulSet's, by uid", { ...web, kind: "StatefulSet" }, pod("StatefulSet", "web", "w"), true],
  ["not those of a predecessor", { ...web, kind: "StatefulSet" }, pod("StatefulSet", "web", "old"), false],
  ["not those of another kind", { ...web, kind: "DaemonSet" }, pod("StatefulSet", "web", "w"), false],
])("the pods of a workload: %s", (_, owner, candidate, belongs) => expect(isOwnedBy(candidate, owner)).toBe(belongs));

it("counts the tokens that name an audience of the API server", () => {
  const audienceTokens = [
    { audience: "api", expirationSeconds: 86_400 },
    { audience: "vault", expirationSeconds: 60 },
  ];
  const own = { tokenExpirationSeconds: 3607, maxTokenExpirationSeconds: 3607 };
  const counted = { mountsToken: true, tokenExpirationSeconds: 3607, maxTokenExpirationSeconds: 86_400 };
  expect(withAudiences({ ...pod("Pod", "x", "x"), ...own, audienceTokens }, ["api"])).toMatchObject(counted);
});
