import { describe, expect, it } from "vitest";
import { isPodOf } from "./targets";
import { pod } from "./testing/fake-log";
import { workload } from "./testing/scene";

describe("the pods of a workload", () => {
  const owned = (kind: string, name: string, uid: string): ReturnType<typeof pod> =>
    pod({ owner: { kind, name, uid } });
  it.each([
    ["a Deployment's, by ReplicaSet and template hash", workload(), pod(), true],
    [
      "not those of web-5d, whose ReplicaSet has the same beginning",
      workload(),
      owned("ReplicaSet", "web-5d-5d", "x"),
      false,
    ],
    ["not those of a standalone ReplicaSet", workload(), owned("ReplicaSet", "web", "x"), false],
    ["not those of another namespace", workload({ namespace: "other" }), pod(), false],
    ["a StatefulSet's, by uid", workload({ kind: "StatefulSet" }), owned("StatefulSet", "web", "w"), true],
    [
      "not those of a predecessor of the same name",
      workload({ kind: "StatefulSet" }),
      owned("StatefulSet", "web", "old"),
      false,
    ],
    ["not those of another kind", workload({ kind: "DaemonSet" }), owned("StatefulSet", "web", "w"), false],
  ])("%s", (_, owner, candidate, belongs) => expect(isPodOf(candidate, owner)).toBe(belongs));
});
