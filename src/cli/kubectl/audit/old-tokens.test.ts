import { expect, it } from "vitest";
import { pod } from "../../../core/testing/views";
import { oldTokens } from "./checks";
import type { AuditFacts } from "./facts";

it.each([
  ["that no node has yet", { phase: "Pending" }],
  ["whose volumes waited for the new ServiceAccount", { nodeName: "n", volumesReadyMs: 20_000 }],
])("no token is old of a pod %s", (_, over) => {
  const accounts = [{ namespace: "team", name: "web", uid: "s", createdAtMs: 10_000 }];
  const pods = [pod({ createdAtMs: 0, containers: [], ...over })];
  expect(oldTokens({ accounts, pods, nowMs: 60_000 } as unknown as AuditFacts)).toEqual([]);
});
