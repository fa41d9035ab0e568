import { beforeEach, describe, expect, it } from "vitest";
import type { StatusCondition } from "../../api/controller-resilience";
import { FakeClock } from "../../core/testing/fake-clock";
import type { Notification } from "../../core/notifications";
import { DEFAULT_TOPICS } from "./incidents";
import { Notices, REPEATED_AFTER_MS } from "./notices";

const SUBJECT = { apiVersion: "v1", kind: "ControllerResilience", namespace: "team", name: "web", uid: "u" };
const LEASE = { apiVersion: "v1", kind: "Lease", namespace: "system", name: "lease" };
const SINCE = "2025-01-02T00:00:00Z";

const condition = (type: string, status: StatusCondition["status"], reason: string): StatusCondition => ({
  ...{ type, status, reason, message: `about ${reason}`, lastTransitionTime: SINCE },
});
const ok = [condition("TokensAccepted", "True", "Accepted"), condition("Stalled", "False", "Progressing")];
const exhausted = [condition("TokensAccepted", "False", "RestartsExhausted"), condition("Stalled", "False", "None")];
const unknown = [condition("TokensAccepted", "Unknown", "ObserveFailed"), condition("Stalled", "False", "None")];

let clock: FakeClock;
let sent: Notification[];
let notices: Notices;

const create = (): Notices => new Notices(clock, { send: each => void sent.push(each) }, { topics: DEFAULT_TOPICS });
const told = (): string[] => sent.splice(0).map(({ state, topic }) => `${state} ${topic}`);
const pass = (before: readonly StatusCondition[], after: readonly StatusCondition[]): string[] => {
  notices.conditions(SUBJECT, before, after);
  return told();
};

beforeEach(() => {
  clock = new FakeClock();
  sent = [];
  notices = create();
});

describe("notices", () => {
  it("tell the begin and the end of an incident once, with ids that another process would give", () => {
    notices.conditions(SUBJECT, ok, exhausted);
    notices.conditions(SUBJECT, exhausted, exhausted);
    notices.conditions(SUBJECT, exhausted, ok);
    notices.conditions(SUBJECT, ok, ok);
    const id = `u/TokensAccepted/RestartsExhausted/${SINCE}`;
    expect(sent.map(each => [each.state, each.id, each.message])).toEqual([
      ["Open", id, "about RestartsExhausted"],
      ["Resolved", `${id}/resolved`, "about Accepted"],
    ]);
  });

  it("do not repeat what an earlier leader has written to status, but tell its end", () => {
    expect(pass(exhausted, exhausted)).toEqual([]);
    notices = create();
    expect(pass(exhausted, ok)).toEqual(["Resolved RestartsExhausted"]);
  });

  describe("of a further workload with the same problem", () => {
    const of = (...names: string[]): Map<string, { name: string; reason: string }[]> => {
      const fine = { name: `Deployment/fine-${names.length}`, reason: "Accepted" };
      return new Map([["TokensAccepted", [...names.map(name => ({ name, reason: "RestartsExhausted" })), fine]]]);
    };
    const passWith = (before: readonly StatusCondition[], ...names: string[]): string[] => {
      notices.conditions(SUBJECT, before, exhausted, of(...names));
      return sent
        .splice(0)
        .map(({ state, id, message }) => [state, id.split("/").slice(4).join("/"), message].join(" "));
    };

    it("are told once each, and the end once", () => {
      expect(passWith(ok, "Deployment/web")).toEqual(["Open  about RestartsExhausted"]);
      clock.advance(REPEATED_AFTER_MS);
      expect(passWith(exhausted, "Deployment/api")).toEqual([
        "Open Deployment/api/2025-01-01T00:05:00Z Also Deployment/api. about RestartsExhausted",
      ]);
      clock.advance(REPEATED_AFTER_MS);
      expect(passWith(exhausted, "Deployment/api", "Deployment/web")).toEqual([]);
      expect(pass(exhausted, ok)).toEqual(["Resolved RestartsExhausted"]);
    });

    it("are told without characters of their names that a terminal may obey", () => {
      passWith(ok, "RoleBinding/web");
      clock.advance(REPEATED_AFTER_MS);
      const name = "RoleBinding/a\x1b[2J\n\u202eb";
      expect(passWith(exhausted, "RoleBinding/web", name)).toEqual([
        "Open RoleBinding/a [2J b/2025-01-01T00:05:00Z Also RoleBinding/a [2J b. about RestartsExhausted",
      ]);
    });

    it("are told together if they come within five minutes", () => {
      passWith(ok, "a");
      expect(passWith(exhausted, "a", "b")).toEqual([]);
      expect(passWith(exhausted, "a", "b", "c", "d", "e")).toEqual([]);
      clock.advance(REPEATED_AFTER_MS);
      expect(passWith(exhausted, "a", "b", "c", "d", "e")).toEqual([
        "Open b/2025-01-01T00:05:00Z Also b, c, d and 1 more. about RestartsExhausted",
      ]);
    });

    it("are taken for told by a new leader if the status showed the problem", () => {
      expect(passWith(exhausted, "a", "b")).toEqual([]);
      expect(passWith(exhausted, "a", "b", "c")).toEqual([
        "Open c/2025-01-01T00:00:00Z Also c. about RestartsExhausted",
      ]);
    });

    it("are told again, with another id, if they were away for more than five minutes while others stayed", () => {
      passWith(ok, "api");
      for (const time of ["00:05:00", "00:10:01"]) {
        clock.advance(REPEATED_AFTER_MS);
        expect(passWith(exhausted, "api", "web")).toEqual([
          `Open web/2025-01-01T${time}Z Also web. about RestartsExhausted`,
        ]);
        passWith(exhausted, "api");
        clock.advance(1_000);
      }
    });

    it("are not told again if they were away for less, however often", () => {
      passWith(ok, "api", "web");
      for (let i = 0; i < 20; i++) {
        expect(passWith(exhausted, "api")).toEqual([]);
        clock.advance(REPEATED_AFTER_MS / 2);
        expect(passWith(exhausted, "api")).toEqual([]);
        clock.advance(REPEATED_AFTER_MS / 2);
        expect(passWith(exhausted, "api", "web")).toEqual([]);
      }
    });

    it("stay told while nothing is known of their condition", () => {
      passWith(ok, "api", "web");
      pass(exhausted, unknown);
      clock.advance(2 * REPEATED_AFTER_MS);
      expect(passWith(unknown, "api", "web")).toEqual([]);
    });
  });

  it("trust the status again after a term, in which another leader may have told the end", () => {
    expect(pass(ok, exhausted)).toEqual(["Open RestartsExhausted"]);
    notices.clear();
    expect(pass(ok, ok)).toEqual([]);
  });

  it("neither open nor end an incident while its condition is Unknown", () => {
    pass(ok, exhausted);
    expect(pass(exhausted, unknown)).toEqual([]);
    expect(pass(unknown, exhausted)).toEqual([]);
    expect(pass(exhausted, unknown)).toEqual([]);
    expect(pass(unknown, ok)).toEqual(["Resolved RestartsExhausted"]);
  });

  it("tell an incident that comes and goes once in five minutes, and in the end if it stays", () => {
    pass(ok, exhausted);
    expect(pass(exhausted, ok)).toEqual(["Resolved RestartsExhausted"]);
    expect(pass(ok, exhausted)).toEqual([]);
    expect(pass(exhausted, ok)).toEqual([]);
    expect(pass(ok, exhausted)).toEqual([]);
    clock.advance(REPEATED_AFTER_MS);
    expect(pass(exhausted, exhausted)).toEqual(["Open RestartsExhausted"]);
  });

  it("tell a stall only if no condition of a remedy says the same", () => {
    const stalled = condition("Stalled", "True", "RestartsExhausted");
    expect(pass(ok, [condition("TokensAccepted", "False", "RestartsExhausted"), stalled])).toEqual([
      "Open RestartsExhausted",
    ]);
    notices = create();
    const forbidden = [condition("TokensAccepted", "False", "Forbidden"), condition("Stalled", "True", "Forbidden")];
    expect(pass(ok, forbidden)).toEqual(["Open Stalled"]);
  });

  it("take a throttled runaway for the same incident", () => {
    const flows = (reason: string) => [condition("FlowsIsolated", reason === "Isolated" ? "True" : "False", reason)];
    expect(pass(flows("Isolated"), flows("Runaway"))).toEqual(["Open Runaway"]);
    expect(pass(flows("Runaway"), flows("Throttled"))).toEqual([]);
    expect(pass(flows("Throttled"), flows("Isolated"))).toEqual(["Resolved Runaway"]);
  });

  it("ignore reasons that are not configured", () => {
    expect(pass(ok, [condition("TokensAccepted", "False", "Rejected")])).toEqual([]);
  });

  it("end the incidents of a block that is removed, and of an object that is gone", () => {
    pass(ok, exhausted);
    expect(pass(exhausted, [])).toEqual(["Resolved RestartsExhausted"]);
    clock.advance(REPEATED_AFTER_MS);
    pass(ok, exhausted);
    notices.gone(SUBJECT.kind, "other", SUBJECT.name);
    expect(told()).toEqual([]);
    notices.gone(SUBJECT.kind, SUBJECT.namespace, SUBJECT.name);
    notices.gone(SUBJECT.kind, SUBJECT.namespace, SUBJECT.name);
    expect(told()).toEqual(["Resolved RestartsExhausted"]);
  });

  it("tell of the restart breaker once, about the Lease", () => {
    const why = `${SINCE} 20 restarts without proof`;
    notices.breaker(LEASE, why, true);
    notices.breakerTripped(LEASE, "tripped");
    expect(pass(ok, [condition("TokensAccepted", "False", "BreakerTripped")])).toEqual(["Open BreakerTripped"]);
    expect(pass(ok, [condition("Stalled", "True", "BreakerTripped")])).toEqual([]);
    notices.breaker(LEASE, null, true);
    expect(sent[0]).toMatchObject({ id: `system/lease/BreakerTripped/${SINCE}/resolved`, since: SINCE });
    expect(told()).toEqual(["Resolved BreakerTripped"]);
  });

  it("leave the reset of the breaker to the leader, and never repeat free text of the annotation", () => {
    notices.breaker(LEASE, "secret", false);
    notices.breaker(LEASE, null, false);
    expect(told()).toEqual([]);
    notices.breaker(LEASE, "secret", true);
    notices.breaker(LEASE, null, true);
    expect(sent).toHaveLength(1);
    expect(JSON.stringify(sent)).not.toContain("secret");
  });
});
