import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runToEnd } from "../core/slices";
import { deniedIn, findStalls, isAnyUnauthorized, isKubelets401 } from "./detector";
import { REFUSED } from "./traces";

it.each([
  ["error: You must be logged in to the server (Unauthorized)", true],
  ['GET https://10.0.0.7:10250/metrics/cadvisor: "401 Unauthorized"', true],
  ["kubelet answered with status=401", true],
  ["registry said 401 to https://registry.example/v2/", true],
  ["401: token expired", true],
  ["invalid bearer token, 401", true],
  ['level=error msg="401"', true],
  ["10.0.0.9 GET /apis/apps/v1 401 12ms", true],
  ["rest client: 401 from https://10.96.0.1", true],
  ["I0105 08:49:30.000000       1 controller.go:214] web: synced 401 objects", false],
  ['{"level":"info","msg":"reconciled","generation":401}', false],
  ["Handler 'reconcile' succeeded (401).", false],
  ["reconciled 401 objects, 0 errors", false],
  ['{"msg":"reconciled 401 objects","errors":0,"failed": 0}', false],
  ["reconciled 401 objects errors=0", false],
  ["401 for 10 errors", true],
  ["watch of shard 0 failed (401)", true],
  ["request to store-0 failed (401)", true],
  ["401 after errors=01", true],
  ["listed 401 pods, watching 401 of them", false],
  ["request took 401ms", false],
  ["handled 2401 requests", false],
  ["forbidden: 403", false],
])("a 401 of any kind %s: %s", (record, expected) => {
  expect(isAnyUnauthorized(record)).toBe(expected);
});

it("knows the kubelet's 401s from those of other services, and from what the kubelet says about others", () => {
  const lines = readFileSync(join(__dirname, "../../test/fixtures/log-records.jsonl"), "utf8").trimEnd().split("\n");
  const records = lines.map(line => JSON.parse(line) as { family: string; line: string });
  const kubelets = records.filter(
    ({ family, line }) => family.startsWith("other-401/kubelet-") || /:10250\/m/.test(line),
  );
  expect(kubelets.length).toBeGreaterThan(40);
  expect(records.filter(({ line }) => isKubelets401(line))).toEqual(kubelets);
});

function topicsOf(record: string): (string | undefined)[] {
  const topics: (string | undefined)[] = [];
  runToEnd(findStalls(Buffer.from(`${record}\n`), (_, topic) => topics.push(topic)));
  return topics;
}

it.each([
  "E0101 12:00:00.000000       1 leaderelection.go:436] error retrieving resource lock team/web: the server has received too many requests and has asked us to try again later (get leases.coordination.k8s.io web)",
  "E0101 12:00:00.000000       1 leaderelection.go:429] Failed to update lock optimistically: the server has received too many requests and has asked us to try again later (put leases.coordination.k8s.io web), falling back to slow path",
  'I0101 12:00:00.000000       1 request.go:752] "Waited before sending request" delay="1.2s" reason="retries: 1, retry-after: 1s - retry-reason: due to server-side throttling, FlowSchema UID: \\"5b\\"" verb="GET" URL="https://10.96.0.1:443/api/v1/pods"',
  "kubernetes.client.exceptions.ApiException: (429) Reason: Too Many Requests",
  "kubernetes_asyncio.client.exceptions.ApiException: (429) Reason: Too Many Requests",
  'watch of /apis/apps/v1/deployments failed: {"kind":"Status","apiVersion":"v1","status":"Failure","message":"slow down","reason":"TooManyRequests","code":429}',
  "io.fabric8.kubernetes.client.KubernetesClientException: Received status: Status(apiVersion=v1, code=429, details=null, kind=Status, message=Too many requests, reason=TooManyRequests, status=Failure).",
])("an answer of the API server because of the rate: %s", record => {
  expect(topicsOf(record)).toContain(REFUSED);
});

it.each([
  "I0101 12:00:00.000000       1 request.go:697] Waited for 1.4s due to client-side throttling, not priority and fairness, request: GET:https://10.96.0.1:443/apis/apps/v1",
  "I0101 12:00:00.000000       1 request.go:668] Throttling request took 1.4s, request: GET:https://10.96.0.1:443/api/v1/pods",
  "E0101 12:00:00.000000       1 leaderelection.go:429] Failed to update lock optimistically: context deadline exceeded, falling back to slow path",
  "[2025-01-01 12:00:00,100] kopf.objects [INFO    ] [team/web] Throttling is over. Switching back to normal operations.",
  "Error from server (TooManyRequests): Cannot evict pod as it would violate the pod's disruption budget.",
  "Throttling: Rate exceeded for kubernetes.io/cluster/prod elb",
  'failed to create volume: Throttling: Request limit exceeded, tags {"kubernetes.io/created-for/pvc/name":"data"}',
  "GET https://api.github.com/repos/kubernetes/kubernetes/releases: 429 too many requests",
  "Throttling kubernetes event emission",
  'GET https://registry.example/apis/v2/tags: {"code":429,"reason":"TooManyRequests"}',
])("no answer of the API server because of the rate: %s", record => {
  expect(topicsOf(record)).not.toContain(REFUSED);
});

describe("the denied request in a record", () => {
  const plain =
    'leases.coordination.k8s.io "web" is forbidden: User "system:serviceaccount:team:web" cannot update resource "leases" in API group "coordination.k8s.io" in the namespace "team"';

  it("is names only, also inside of JSON and at the cluster scope", () => {
    const request = {
      serviceAccount: { namespace: "team", name: "web" },
      ...{ verb: "update", resource: "leases", group: "coordination.k8s.io", namespace: "team" },
    };
    expect(deniedIn(plain)).toEqual(request);
    expect(deniedIn(JSON.stringify({ message: plain }))).toEqual(request);
    expect(deniedIn(JSON.stringify({ body: JSON.stringify({ message: plain }) }))).toEqual(request);
    const wide =
      'User "system:serviceaccount:team:web" cannot list resource "nodes" in API group "" at the cluster scope';
    expect(deniedIn(wide)).toEqual({
      serviceAccount: request.serviceAccount,
      ...{ verb: "list", resource: "nodes", group: "" },
    });
  });

  it("is unknown for anything else", () => {
    for (const text of [
      plain.replace("team:web", "team:we b"),
      plain.replace("update", "obliterate"),
      plain.replace('"leases"', '"<script>"'),
      plain.replace("system:serviceaccount:team:web", "alice"),
      "403 Forbidden",
    ])
      expect(deniedIn(text)).toBeUndefined();
  });
});
