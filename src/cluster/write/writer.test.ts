import { describe, expect, it } from "vitest";
import { TransientError, UnavailableError, WaitError } from "../../core/errors";
import type { Intent } from "../../core/intent";
import type { Api, ApiRequest } from "../http/api";
import { errorOfRefusal } from "../http/status-errors";
import { apiWriter } from "./writer";

const EVICTION: Intent = {
  verb: "evict",
  target: { apiVersion: "v1", kind: "Pod", namespace: "kai", name: "a", uid: "u" },
  why: "It must go.",
  eventReason: "PodEvicted",
};

async function evict(code: number, status: Record<string, unknown> = {}, seconds?: string): Promise<Error> {
  const refusal = errorOfRefusal(
    { code, status, retryAfterMs: seconds === undefined ? undefined : 1000 * Number(seconds) },
    "create pods/eviction kai/a",
  );
  const api = { json: () => Promise.reject(refusal) } as unknown as Api;
  return (await apiWriter(api)
    .write(EVICTION)
    .catch((error: unknown) => error)) as Error;
}

const PLACE = { namespace: "kai", name: "a" };
const ROLE_BINDING = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", ...PLACE };
const STRICT = { fieldManager: "controller-resilience", fieldValidation: "Strict" };
const BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/kai/rolebindings";
const identity = { apiVersion: ROLE_BINDING.apiVersion, kind: "RoleBinding" };
const preconditions = { uid: "u", resourceVersion: "7" };
const labels = { b: "2" };

// test/integration/simulation-server.test.ts has the answers of a real API server to such requests.
it.each<[Intent["verb"], object]>([
  ["create", { method: "POST", path: BINDINGS, query: STRICT, body: { ...identity, metadata: { labels, ...PLACE } } }],
  [
    "apply",
    {
      ...{ method: "PATCH", path: `${BINDINGS}/a`, query: { ...STRICT, force: true } },
      contentType: "application/apply-patch+yaml",
      body: { ...identity, metadata: { labels, ...preconditions, ...PLACE } },
    },
  ],
  [
    "patch",
    {
      ...{ method: "PATCH", path: `${BINDINGS}/a`, query: STRICT, contentType: "application/merge-patch+json" },
      body: { metadata: { labels, ...preconditions } },
    },
  ],
  ["delete", { method: "DELETE", path: `${BINDINGS}/a`, body: { preconditions } }],
  [
    "evict",
    {
      ...{ method: "POST", path: "/api/v1/namespaces/kai/pods/a/eviction", query: STRICT },
      body: {
        ...{ apiVersion: "policy/v1", kind: "Eviction", metadata: PLACE },
        deleteOptions: { preconditions: { uid: "u" } },
      },
    },
  ],
])("a write with the verb %s has the object's identity as its precondition, and is strict", async (verb, expected) => {
  const sent: object[] = [];
  const json = (request: ApiRequest) => Promise.resolve(sent.push({ ...request, what: undefined }));
  const api = { json } as unknown as Api;
  const target = verb === "evict" ? EVICTION.target : { ...ROLE_BINDING, ...(verb === "create" ? {} : preconditions) };
  await apiWriter(api).write({ verb, target, body: { metadata: { labels } }, why: "test", eventReason: "Tested" });
  expect(sent).toEqual([expected]);
});

describe("an eviction", () => {
  it("of a pod that several PodDisruptionBudgets select is refused, although the answer is 500", async () => {
    const message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    const error = await evict(500, { kind: "Status", message });
    expect(error).toMatchObject({ constructor: WaitError, afterMs: 60_000 });
    expect(error.message).toBe(
      "create pods/eviction kai/a: several PodDisruptionBudgets select this pod, so Kubernetes never evicts it",
    );
  });

  it("with any other 5xx answer is in doubt", async () => {
    expect((await evict(500, { message: "etcdserver: request timed out" })).constructor).toBe(TransientError);
    expect(await evict(503, {}, "1")).toMatchObject({ constructor: UnavailableError, afterMs: 1_000 });
  });

  it("that a PodDisruptionBudget refuses is retried after at least ten seconds", async () => {
    expect(await evict(429)).toMatchObject({ constructor: WaitError, afterMs: 10_000 });
    expect(await evict(429, {}, "30")).toMatchObject({ afterMs: 30_000 });
  });

  it("names the PodDisruptionBudget that refuses it", async () => {
    const cause = "The disruption budget web needs 2 healthy pods and has 2 currently";
    const causes = [{ reason: "DisruptionBudget", message: cause }];
    const message = "Cannot evict pod as it would violate the pod's disruption budget.";
    const error = await evict(429, { kind: "Status", message, details: { causes } });
    expect(error.message).toBe(`create pods/eviction kai/a: refused for now (429): ${message} ${cause}`);
  });
});
