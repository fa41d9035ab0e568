import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StatusCondition, ControllerResilienceStatus, RestartStatus } from "../api/controller-resilience";
import { nextConditions, type ConditionUpdate, boundStatus } from "./status";
import { toSeconds } from "./time";

const EARLIER = new Date("2025-01-01T00:00:00Z");
const LATER = new Date("2025-01-01T00:05:00.900Z");

function update(changes: Partial<ConditionUpdate> = {}): ConditionUpdate {
  return { type: "Ready", status: "True", reason: "AllHold", message: "Fine.", ...changes };
}

const at = (time: Date, ...updates: ConditionUpdate[]) => nextConditions([], updates, 1, time);

describe("conditions", () => {
  it("keep lastTransitionTime while only reason, message or generation change", () => {
    const before = at(EARLIER, update());
    const after = nextConditions(before, [update({ reason: "NothingToDo", message: "Other." })], 7, LATER);
    expect(after[0]).toMatchObject({
      lastTransitionTime: "2025-01-01T00:00:00Z",
      reason: "NothingToDo",
      message: "Other.",
      observedGeneration: 7,
    });
  });

  it("keep no lastTransitionTime of a clock that was ahead", () => {
    const [after] = nextConditions(at(LATER, update()), [update()], 1, EARLIER);
    expect(after?.lastTransitionTime).toBe("2025-01-01T00:00:00Z");
  });

  const status = fc.constantFrom("True" as const, "False" as const, "Unknown" as const);
  const anyUpdates = fc.uniqueArray(
    fc.record({
      type: fc.constantFrom("Ready" as const, "Stalled" as const, "TokensAccepted" as const),
      status,
      reason: fc.constantFrom("AllHold" as const, "Idle" as const),
      message: fc.string(),
    }),
    { selector: one => one.type },
  );

  it("have one entry per type and a transition exactly when status changes, for any sequence", () => {
    fc.assert(
      fc.property(fc.array(anyUpdates, { maxLength: 20 }), rounds => {
        let current: StatusCondition[] = [];
        rounds.forEach((updates, round) => {
          const now = new Date(EARLIER.getTime() + (round + 1) * 60_000);
          const next = nextConditions(current, updates, round, now);
          expect(next.map(({ type }) => type)).toEqual(updates.map(({ type }) => type));
          for (const condition of next) {
            const before = current.find(({ type }) => type === condition.type);
            const same = before?.status === condition.status;
            expect(condition.lastTransitionTime).toBe(same ? before.lastTransitionTime : toSeconds(now));
          }
          current = next;
        });
      }),
    );
  });
});

const NOW = new Date("2025-06-01T12:00:00Z");

function restart(id: number, outcome: RestartStatus["outcome"] = "Recovered"): RestartStatus {
  const time = new Date(NOW.getTime() - id * 60_000).toISOString();
  return { pod: `app-${id}`, podUID: `uid-${id}`, workload: "Deployment/app", time, cause: "Unknown", outcome };
}

describe("a status", () => {
  it("stays far below the size limit of etcd, whatever its content", () => {
    const long = "x".repeat(253);
    const status: ControllerResilienceStatus = {
      conditions: at(EARLIER, update()).map(ready => ({ ...ready, message: "€".repeat(32_000) })),
      targets: Array.from({ length: 10_000 }, () => ({ kind: "Deployment", name: long, pods: 1, rejectedPods: 0 })),
      bindings: Array.from({ length: 50 }, () => ({
        kind: "RoleBinding" as const,
        state: "Current" as const,
        name: long,
        subjects: Array.from({ length: 1_000 }, () => ({ kind: "ServiceAccount", name: long })),
      })),
      restarts: Array.from({ length: 400 }, (_, i) => restart(i)),
    };
    const bounded = boundStatus(status);
    expect(Buffer.byteLength(JSON.stringify(bounded))).toBeLessThanOrEqual(512 * 1024);
    expect(bounded.restarts).toEqual(status.restarts);
  });

  it("names each list that was cut, of any remedy, and its length, in a stable order", () => {
    const list = Array.from({ length: 40_000 }, (_, i) => ({ name: `entry-${i}` }));
    const message = (text: string, ...names: string[]) => {
      const conditions = { conditions: at(EARLIER, update({ message: text })) };
      const lists = names.map(name => (name === "conditions" ? conditions : { [name]: list }));
      const status = Object.assign({}, ...lists) as ControllerResilienceStatus;
      return boundStatus(status).conditions?.[0]?.message;
    };
    const cut = (name: string) => `status.${name} lists 10000 of 40000 entries: status has reached its size limit.`;
    for (const names of [
      ["toys", "flows", "conditions"],
      ["conditions", "flows", "toys"],
    ]) {
      expect(message("All is well.", ...names)).toBe(`All is well. ${cut("toys")} ${cut("flows")}`);
      const long = message("x".repeat(4_096), ...names);
      expect(long).toHaveLength(4_094);
      expect(long?.replace(/^x+/, "")).toBe(`… ${cut("toys")} ${cut("flows")}`);
    }
  });

  it("is cut between characters", () => {
    const [condition] = at(LATER, update({ message: `a${"😀".repeat(5_000)}` }));
    expect(condition?.message).toBe(`a${"😀".repeat(1_023)}…`);
  });

  it("has no characters in its messages that a terminal may obey, or that hide or reorder text", () => {
    const messageOf = (message: string) => at(LATER, update({ message }))[0]?.message;
    expect(messageOf("RoleBinding a\x1b[2J\r\n\u202eb\u009bc\u2028d expires.")).toBe(
      "RoleBinding a [2J b c d expires.",
    );
    expect(messageOf(`${"\n".repeat(5_000)}end`)).toBe(" end");
  });
});
