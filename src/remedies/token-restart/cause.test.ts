import { describe, expect, it } from "vitest";
import { causeOf, type Onset } from "./cause";

const onset = (workload: string, sinceMs = 0, namespace = "team"): Onset => ({
  workload: `Deployment/${workload}`,
  namespace,
  serviceAccount: workload,
  sinceMs,
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
  ])("%s", (_, given, others, cause) => expect(causeOf(given, others)).toBe(cause));
});
