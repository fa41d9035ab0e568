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
const rejection = { onset: onset("web"), isServiceAccountMissing: false };

describe("the cause of rejected tokens", () => {
  it.each([
    ["nothing else is known", rejection, [], "Unknown"],
    [
      "the pod is older than its ServiceAccount",
      { ...rejection, proven: "ServiceAccountRecreated" as const },
      [onset("db")],
      "ServiceAccountRecreated",
    ],
    ["the ServiceAccount is missing", { ...rejection, isServiceAccountMissing: true }, [], "ServiceAccountMissing"],
    ["another workload began at the same time", rejection, [onset("db", 300_000)], "RejectedTogether"],
    ["a workload of the same name in another namespace did", rejection, [onset("web", 0, "other")], "RejectedTogether"],
    ["the other workload began much later", rejection, [onset("db", 300_001)], "Unknown"],
    [
      "the other workload has the same ServiceAccount",
      rejection,
      [{ ...onset("db"), serviceAccount: "web" }],
      "Unknown",
    ],
    ["the other workload is the same", rejection, [onset("web")], "Unknown"],
    [
      "it began together with another, and its first 401s have left the window",
      { ...rejection, onset: onset("web", 2_000_000) },
      [onset("web", 100_000), onset("db", 0)],
      "RejectedTogether",
    ],
  ])("%s", (_, rejected, others, cause) => expect(causeOf(rejected, others)).toBe(cause));
});

describe("a rejection that began before the log was read", () => {
  it.each([
    ["its own", { ...onset("web"), isStartUnknown: true }, onset("db")],
    ["the other's", onset("web"), { ...onset("db"), isStartUnknown: true }],
  ])("names no rotated key: %s", (_, own, other) =>
    expect(causeOf({ ...rejection, onset: onset("web") }, [own, other])).toBe("Unknown"),
  );

  it("has an unknown start also after its first 401s have left the window", () => {
    const unknown = { ...onset("db", 5), isStartUnknown: true };
    const later = onset("db", 900_000);
    expect(rememberOnsets([unknown], [later], 900_000)).toEqual([{ ...unknown, seenMs: 900_000 }]);
  });
});

describe("remembered onsets", () => {
  const hour = 3_600_000;

  it("include a healed workload for an hour", () => {
    expect(rememberOnsets([onset("db")], [], hour - 1)).toEqual([onset("db")]);
    expect(rememberOnsets([onset("db")], [], hour)).toEqual([]);
  });

  it("compare persistent onsets only, despite a stray 401 half an hour before", () => {
    const [stray, persistent] = [{ ...onset("web"), isPersistent: false }, onset("web", 1_800_000)];
    const known = [stray, persistent, onset("db", 1_800_000)];
    expect(causeOf({ ...rejection, onset: persistent }, known)).toBe("RejectedTogether");
  });

  it("name no rotated key for stray 401s of another workload", () => {
    const stray = { ...onset("db"), isPersistent: false };
    expect(causeOf(rejection, [rejection.onset, stray])).toBe("Unknown");
  });

  it("do not take a stray 401 for the start of a later persistent rejection", () => {
    const stray = { ...onset("db"), isPersistent: false };
    const later = onset("db", 1_800_000);
    expect(rememberOnsets([stray], [later], 1_800_000)).toEqual([stray, later]);
  });

  it("keep the earliest start of a rejection", () => {
    const later = { ...onset("db", 900_000), seenMs: 1_000_000 };
    expect(rememberOnsets([onset("db", 5)], [later], 1_000_000)).toEqual([{ ...later, sinceMs: 5 }]);
  });
});
