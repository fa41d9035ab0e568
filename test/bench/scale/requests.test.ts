import { describe, expect, it } from "vitest";
import { type AuditedRequest, parseAudit, quantile, readIntervals } from "./requests";

const START = Date.parse("2026-01-01T00:00:00Z");

interface Line {
  readonly id: string;
  readonly second?: number;
  readonly verb?: string;
  readonly uri?: string;
  readonly ref?: object;
  readonly code?: number;
}

function line({ id, second = 0, verb = "get", uri = "/api/v1/pods?limit=5", ref, code }: Line): string {
  return JSON.stringify({
    kind: "Event",
    auditID: id,
    stage: code === undefined ? "ResponseStarted" : "ResponseComplete",
    requestURI: uri,
    verb,
    user: { username: "system:serviceaccount:a:b" },
    ...(ref === undefined ? {} : { objectRef: ref }),
    ...(code === undefined ? {} : { responseStatus: { metadata: {}, code } }),
    requestReceivedTimestamp: new Date(START + second * 1000).toISOString().replace("Z", "000Z"),
  });
}

const log = { resource: "pods", subresource: "log", namespace: "kai", name: "web-1" };

function request(about: Partial<AuditedRequest>): AuditedRequest {
  return { atMs: START, verb: "get", resource: "pods", namespace: "", name: "", ...about };
}

it("parseAudit names each request once by verb and resource or path, in the order of their arrival", () => {
  const watch = { verb: "watch", ref: { resource: "pods" } };
  const lines = [
    line({ id: "1", second: 2, ref: log, code: 200 }),
    line({ id: "2", second: 1, uri: "/metrics?a=b", code: 200 }),
    // It has a line at its start and one at its end.
    line({ id: "3", ...watch }),
    line({ id: "3", ...watch, code: 200 }),
    // It is still being written.
    line({ id: "4", code: 200 }).slice(0, 40),
  ];
  expect(parseAudit(lines.join("\n"))).toEqual([
    { atMs: START, verb: "watch", resource: "pods", namespace: "", name: "", code: 200 },
    { atMs: START + 1000, verb: "get", resource: "/metrics", namespace: "", name: "", code: 200 },
    { atMs: START + 2000, verb: "get", resource: "pods/log", namespace: "kai", name: "web-1", code: 200 },
  ]);
  expect(parseAudit("")).toEqual([]);
});

describe("readIntervals", () => {
  const reads = (name: string, ...times: number[]): AuditedRequest[] =>
    times.map(second => request({ resource: "pods/log", name, atMs: START + second * 1000 }));
  const at = (second: number): number => START + second * 1000;

  it("has the intervals that end within the time, also those that began before it", () => {
    const found = readIntervals([...reads("a", 0, 35, 66), ...reads("b", 5, 33, 62)], at(40), at(70));
    expect(found).toEqual({ logs: 2, median: 29, p99: 31, max: 31 });
  });

  it("counts a log that is not read again by the time since its last read", () => {
    expect(readIntervals(reads("a", 0), at(40), at(100))).toEqual({ logs: 1, median: 100, p99: 100, max: 100 });
    expect(readIntervals(reads("a", 10, 20, 30), at(0), at(90)).max).toBe(60);
  });

  it("ignores what happened after the time, and other requests", () => {
    const others = [request({ atMs: at(20), name: "a" })];
    expect(readIntervals([...reads("a", 0, 10, 30), ...others], at(0), at(15)).max).toBe(10);
  });

  it("is unknown without reads", () => {
    expect(readIntervals([], at(0), at(15))).toEqual({ logs: 0, median: NaN, p99: NaN, max: NaN });
  });
});

it("quantile is the value below which the share lies", () => {
  const sorted = Array.from({ length: 100 }, (_, i) => i + 1);
  expect([0, 0.5, 0.99, 1].map(share => quantile(sorted, share))).toEqual([1, 50, 99, 100]);
});
