import { type Right, RIGHTS } from "./admission-authors";

// Blocks of a spec, and the changes of their fields that ask for less or for more.

const { evict, updateRoleBindings, patchDaemonSets, createFlowSchemas } = RIGHTS;
const roleBinding = { kind: "RoleBinding", name: "reader" };
const [leaseA, leaseB] = ["a", "b"].map(name => ({ namespace: "kube-system", name }));

/** An administrator's object with all fields that can be made narrower. */
export const FULL = {
  tokenRestart: {
    ...{ evidence: ["Logs", "ServiceAccountAge"], minDuration: "60s", containers: ["a"] },
    ...{ extraPhrases: ["denied", "refused"], cooldown: "10m", maxRestarts: 3, maxUnavailable: 2 },
  },
  bindingRenewal: {
    ...{ bindings: [roleBinding, { ...roleBinding, name: "writer" }], renewBefore: "12h", warnBefore: "48h" },
    ...{ extendBy: "48h", renewUntil: "2040-01-01T00:00:00Z" },
  },
  tokenLifetime: { expirationSeconds: 1200, defaultToken: "Project" },
  flowIsolation: { requestRate: { threshold: 100, for: "30s", onRunaway: "Throttle", release: "5m" } },
  stallDetection: {
    ...{ evidence: ["Lease", "LeaderLoss"], for: "5m", onStall: "Restart" },
    leases: [leaseA, leaseB],
  },
} as const;

type Change = readonly [field: string, value: unknown];

interface Changes {
  readonly right: Right;
  readonly narrower: readonly Change[];
  readonly wider: readonly Change[];
}

/** The changes of each block. */
export const CHANGES: Readonly<Record<keyof typeof FULL, Changes>> = {
  tokenRestart: {
    right: evict,
    narrower: [
      ["minDuration", "90s"],
      ["extraPhrases", ["refused"]],
      ["cooldown", "20m"],
      ["maxRestarts", 2],
      ["maxUnavailable", 1],
    ],
    wider: [
      ["minDuration", "50s"],
      ["evidence", ["ServiceAccountAge"]],
      ["cooldown", "9m"],
      ["maxRestarts", 4],
      ["maxUnavailable", 3],
      ["containers", []],
    ],
  },
  bindingRenewal: {
    right: updateRoleBindings,
    narrower: [
      ["bindings", [roleBinding]],
      ["bindings", []],
      ["renewBefore", "6h"],
      ["warnBefore", "96h"],
      ["extendBy", "24h"],
      ["renewUntil", "2039-01-01T00:00:00Z"],
    ],
    wider: [
      ["bindings", [{ ...roleBinding, name: "other" }]],
      ["renewBefore", "24h"],
      ["extendBy", "96h"],
      ["extendBy", ""],
      ["renewUntil", null],
      ["renewUntil", "2041-01-01T00:00:00Z"],
    ],
  },
  tokenLifetime: {
    right: patchDaemonSets,
    narrower: [["windows", [{ schedule: "0 2 * * 6", duration: "3h", timeZone: "UTC" }]]],
    wider: [
      // It restores the template, which replaces all pods.
      ["defaultToken", "Leave"],
      ["expirationSeconds", 600],
      ["expirationSeconds", 3600],
    ],
  },
  flowIsolation: {
    right: createFlowSchemas,
    narrower: [rate("threshold", 200), rate("for", "60s"), rate("release", "2m"), rate("onRunaway", "Report")],
    wider: [rate("threshold", 50), rate("for", "20s"), rate("release", "10m")],
  },
  stallDetection: {
    right: evict,
    narrower: [
      ["evidence", ["Lease"]],
      ["for", "10m"],
      ["onStall", "Report"],
      ["leases", [leaseA]],
    ],
    wider: [
      ["evidence", ["Lease", "LeaderLoss", "Forbidden"]],
      ["metrics", {}],
      ["for", "4m"],
      ["leases", [leaseA, leaseB, { namespace: "kube-system", name: "c" }]],
    ],
  },
};

function rate(field: string, value: unknown): Change {
  return ["requestRate", { ...FULL.flowIsolation.requestRate, [field]: value }];
}
