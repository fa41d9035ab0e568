import { expect, it } from "vitest";
import { victimsOf } from "./scenes/dead";
import { lastFirstReport } from "./scenes/burst";
import { trafficOf } from "./steady";
import type { AuditedRequest } from "./requests";

function request(second: number, about: Partial<AuditedRequest>): AuditedRequest {
  return { atMs: second * 1000, verb: "get", resource: "pods", namespace: "a", name: "b", code: 200, ...about };
}

it("the pods that die are one of the first and one of the last workload, and 50 at once of few others", () => {
  const { ends, many } = victimsOf({ pods: 500, objects: 25 });
  expect(ends).toEqual(["app-0-0", "app-9-19"]);
  expect(new Set(many).size).toBe(50);
  const workloads = new Set(many.map(pod => pod.replace(/-\d+$/, "")));
  expect(workloads.size).toBe(10);
  expect(ends.some(pod => workloads.has(pod.replace(/-\d+$/, "")))).toBe(false);
  // They exist, also where workloads are small.
  expect(victimsOf({ pods: 20, objects: 10 }).many).toHaveLength(8);
});

it("the traffic of a time has log reads, other requests, writes and refused requests", () => {
  const requests = [
    request(1, { resource: "pods/log" }),
    request(11, { resource: "pods/log" }),
    request(12, { resource: "leases", verb: "update" }),
    request(13, { resource: "events", verb: "create", code: 403 }),
    request(14, { resource: "selfsubjectreviews", verb: "create" }),
    request(14, { resource: "controllerresiliences/status", verb: "update" }),
    request(10, {}),
    request(15, {}),
    request(20, {}),
  ];
  const once = (...kinds: readonly string[]) => kinds.map(what => ({ what, count: 1 }));
  const others = once("create events", "create selfsubjectreviews", "get pods/log");
  const updates = once("update controllerresiliences/status", "update leases");
  expect(trafficOf(requests, 10_000, 20_000)).toEqual({
    ...{ seconds: 10, logReads: 1, others: 6, besidesLease: 5 },
    writes: once("create events", "update controllerresiliences/status"),
    kinds: [{ what: "get pods", count: 2 }, ...others, ...updates],
    refused: once("403 create events"),
    intervals: { logs: 1, median: 10, p99: 10, max: 10 },
  });
});

it("the last first report is the first status of the object that got its own last", () => {
  const status = { resource: "controllerresiliences/status", verb: "update" };
  const requests = [
    request(1, { ...status, name: "early" }),
    request(5, { ...status, name: "x" }),
    request(6, { ...status, name: "y", code: 409 }),
    request(7, { ...status, name: "y" }),
    request(9, { ...status, name: "x" }),
  ];
  expect(lastFirstReport(requests, 4_000)).toBe(7_000);
  expect(lastFirstReport([], 4_000)).toBe(4_000);
});
