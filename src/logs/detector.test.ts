import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isAnyUnauthorized, isKubelets401 } from "./detector";

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
