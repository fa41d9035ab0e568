import { describe, expect, it } from "vitest";
import { causeOf, rememberOnsets, type Onset } from "./cause";

const onset = (workload: string, sinceMs = 0, namespace = "team"): Onset => ({
  workload: `Deployment/${workload}`,
  namespace,
  serviceAccount: workload,
  sinceMs,
  seenMs: sinceMs,
  isPersistent: true,
});
const rejection = { onset: onset("web"), isOlder: false, isServiceAccountMissing: false };

describe("the cause of rejected tokens", () => {
  it.each([
    ["nothing else is known", rejection, [], "Unknown"],
    [
      "the pod is older than its ServiceAccount",
      { ...rejection, isOlder: true },
      [onset("db")],
      "ServiceAccountRecreated",
    ],
    ["the ServiceAccount is gone", { ...rejection, isServiceAccountMissing: true }, [], "ServiceAccountMissing"],
    ["another workload began at the same time", rejection, [onset("db", 300_000)], "SigningKeyRotated"],
    ["one of the same name in another namespace did", rejection, [onset("web", 0, "other")], "SigningKeyRotated"],
    ["the other one began much later", rejection, [onset("db", 300_001)], "Unknown"],
    ["the other one has the same ServiceAccount", rejection, [{ ...onset("db"), serviceAccount: "web" }], "Unknown"],
    ["the other one is itself", rejection, [onset("web")], "Unknown"],
    [
      "it began with the other one, though its first 401s have left the window since",
      { ...rejection, onset: onset("web", 2_000_000) },
      [onset("web", 100_000), onset("db", 0)],
      "SigningKeyRotated",
    ],
  ])("%s", (_, given, others, cause) => expect(causeOf(given, others)).toBe(cause));
});

describe("what is remembered of rejections", () => {
  const hour = 3_600_000;

  it("a workload that was healed is remembered for an hour", () => {
    expect(rememberOnsets([onset("db")], [], hour - 1)).toEqual([onset("db")]);
    expect(rememberOnsets([onset("db")], [], hour)).toEqual([]);
  });

  it("a stray 401 of its own, half an hour before, does not hide with whom it began to be rejected for good", () => {
    const [stray, own] = [{ ...onset("web"), isPersistent: false }, onset("web", 1_800_000)];
    const known = [stray, own, onset("db", 1_800_000)];
    expect(causeOf({ ...rejection, onset: own }, known)).toBe("SigningKeyRotated");
  });

  it("a stray 401 is not the beginning of what becomes persistent later", () => {
    const stray = { ...onset("db"), isPersistent: false };
    const later = onset("db", 1_800_000);
    expect(rememberOnsets([stray], [later], 1_800_000)).toEqual([stray, later]);
  });

  it("the earliest beginning is kept while it goes on", () => {
    const later = { ...onset("db", 900_000), seenMs: 1_000_000 };
    expect(rememberOnsets([onset("db", 5)], [later], 1_000_000)).toEqual([{ ...later, sinceMs: 5 }]);
  });
});
