import { expect, it } from "vitest";
import { pod } from "../../../core/testing/views";
import { oldTokens, rejectedNow } from "./checks";
import type { AuditFacts } from "./facts";

it.each([
  ["that no node has yet", { phase: "Pending" }],
  ["whose volumes waited for the new ServiceAccount", { nodeName: "n", volumesReadyMs: 20_000 }],
])("no token is old of a pod %s", (_, over) => {
  const accounts = [{ namespace: "team", name: "web", uid: "s", createdAtMs: 10_000 }];
  const pods = [pod({ createdAtMs: 0, containers: [], ...over })];
  expect(oldTokens({ accounts, pods, nowMs: 60_000 } as unknown as AuditFacts)).toEqual([]);
});

it("doubts a 401 only of a pod that is not older than its ServiceAccount", () => {
  const log = {
    pod: pod({ createdAtMs: 20_000 }),
    container: "main",
    unauthorized: "some",
    occasions: 1,
    needed: 3,
  };
  const whyOf = (createdAtMs: number): string | undefined => {
    const accounts = [{ namespace: "team", name: "web", uid: "s", createdAtMs }];
    return rejectedNow({ accounts, logs: [{ ...log, forbidden: 0 }], nowMs: 60_000 } as unknown as AuditFacts)[0]?.why;
  };
  expect(whyOf(30_000)).toBe("the log of container main shows 1 occasion of 401.");
  expect(whyOf(10_000)).toBe("the log of container main shows 1 occasion of 401, too few to be sure.");
});
