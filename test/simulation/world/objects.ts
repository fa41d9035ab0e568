import type { WorkloadPlan } from "../cluster/install";
import type { Dice } from "../time";
import type { ObjectPlan } from "./plan";

// Which ControllerResiliences a generated world has, with every field of their blocks.

/** Per namespace: an object with selectors, one with names, or two that overlap; sometimes one for all namespaces. */
export function drawObjects(
  dice: Dice,
  namespaces: readonly string[],
  workloads: readonly WorkloadPlan[],
): ObjectPlan[] {
  const objects = namespaces.flatMap(namespace => {
    const luck = dice.fork(namespace);
    if (luck.chance(0.1)) return [];
    const inside = workloads.filter(workload => workload.namespace === namespace);
    const all = inside.map(({ kind, name }) => ({ kind, name }));
    const targets = luck.chance(0.5) ? all : selectors(inside);
    const first = { namespace, name: "main", spec: { targets, ...blocks(luck.fork("main"), inside) } };
    const other = { namespace, name: "second", spec: { targets: all.slice(0, 1), ...blocks(luck.fork("2"), inside) } };
    return luck.chance(0.15) ? [first, other] : [first];
  });
  if (objects.length > 0 && !dice.chance(0.3)) return objects;
  return [...objects, { name: "everything", spec: clusterSpec(dice.fork("cluster"), namespaces, workloads) }];
}

function selectors(inside: readonly WorkloadPlan[]): object[] {
  const kinds = [...new Set(inside.map(({ kind }) => kind))];
  return kinds.map(kind => ({ kind, selector: { matchLabels: { protect: "yes" } } }));
}

const inTeams = (teams: readonly string[]): object => ({
  matchExpressions: [{ key: "team", operator: "In", values: teams }],
});

/** Staged: in Observe for all, in some namespaces in Enforce, in others not at all. */
function clusterSpec(dice: Dice, namespaces: readonly string[], workloads: readonly WorkloadPlan[]): object {
  const some = namespaces.filter(() => dice.chance(0.6));
  const teams = some.length === 0 ? namespaces.slice(0, 1) : some;
  const modes = [{ mode: "Enforce" }, { mode: "Observe" }, { enforce: { namespaceSelector: inTeams(teams) } }];
  return {
    ...dice.pick(modes),
    ...(dice.chance(0.25) ? { namespaceSelector: inTeams(teams) } : {}),
    ...(dice.chance(0.2) ? { excludeNamespaces: [dice.pick(namespaces), "ci-*"] } : {}),
    ...(dice.chance(0.2) ? { workloads: { kinds: ["Deployment"] } } : {}),
    template: {
      ...blocksOf(dice.fork("blocks"), workloads),
      tokenRestart: restartBlock(dice.fork("restart")),
    },
  };
}

function blocks(dice: Dice, inside: readonly WorkloadPlan[]): object {
  return { ...(dice.chance(0.1) ? { mode: "Observe" } : {}), ...blocksOf(dice, inside) };
}

function blocksOf(dice: Dice, inside: readonly WorkloadPlan[]): object {
  const hasSets = inside.some(({ kind }) => kind === "DaemonSet");
  const found = {
    ...(dice.chance(0.9) ? { tokenRestart: restartBlock(dice.fork("restart")) } : {}),
    ...(dice.chance(0.5) ? { stallDetection: stallBlock(dice.fork("stall"), inside) } : {}),
    ...(dice.chance(0.4) ? { bindingRenewal: renewalBlock(dice.fork("renewal"), inside) } : {}),
    ...(hasSets && dice.chance(0.4) ? { tokenLifetime: lifetimeBlock(dice.fork("lifetime")) } : {}),
    ...(dice.chance(0.3) ? { flowIsolation: flowBlock(dice.fork("flow")) } : {}),
  };
  return Object.keys(found).length === 0 ? { tokenRestart: {} } : found;
}

function restartBlock(dice: Dice): object {
  const evidence = [["Logs"], ["ServiceAccountAge"], ["Logs", "SandboxEvents"]];
  return {
    ...(dice.chance(0.3) ? { cooldown: dice.pick(["30s", "2m", "10m"]) } : {}),
    ...(dice.chance(0.3) ? { maxUnavailable: dice.pick([1, 2, 5]) } : {}),
    ...(dice.chance(0.2) ? { maxRestarts: dice.pick([1, 2, 20]) } : {}),
    ...(dice.chance(0.15) ? { evidence: dice.pick(evidence) } : {}),
    ...(dice.chance(0.15) ? { minDuration: dice.pick(["10s", "30s", "2m"]) } : {}),
    ...(dice.chance(0.1) ? { containers: ["main"] } : {}),
    ...(dice.chance(0.1) ? { extraPhrases: ["token has been revoked", "credentials were not accepted"] } : {}),
  };
}

function stallBlock(dice: Dice, inside: readonly WorkloadPlan[]): object {
  const [other] = inside.filter(({ leaseSeconds }) => leaseSeconds !== undefined);
  return {
    onStall: dice.pick(["Report", "Restart"]),
    ...(dice.chance(0.2) ? { for: dice.pick(["1m", "2m", "5m"]) } : {}),
    ...(dice.chance(0.2) ? { evidence: dice.pick([["Lease"], ["Lease", "LeaderLoss"], ["Lease", "Forbidden"]]) } : {}),
    ...(other !== undefined && dice.chance(0.2) ? { leases: [{ namespace: other.namespace, name: other.name }] } : {}),
  };
}

function renewalBlock(dice: Dice, inside: readonly WorkloadPlan[]): object {
  const bindings = inside.map(({ name }) => ({ kind: "RoleBinding", name: `${name}-expiring` }));
  return {
    ...{ renewBefore: "1h", warnBefore: "2h" },
    ...(dice.chance(0.8) ? { extendBy: dice.pick(["30m", "4h", "24h"]) } : {}),
    ...(dice.chance(0.3) ? { bindings: bindings.slice(0, 2) } : {}),
    ...(dice.chance(0.15) ? { renewUntil: dice.pick(["2026-01-05T09:00:00Z", "2026-01-06T00:00:00Z"]) } : {}),
  };
}

function lifetimeBlock(dice: Dice): object {
  const windows = [{ schedule: dice.pick(["0 * * * *", "*/30 8-9 * * *", "0 3 * * 6"]), duration: "20m" }];
  return {
    ...(dice.chance(0.3) ? { expirationSeconds: dice.pick([600, 900, 3600]) } : {}),
    ...(dice.chance(0.15) ? { defaultToken: "Leave" } : {}),
    ...(dice.chance(0.2) ? { windows } : {}),
  };
}

function flowBlock(dice: Dice): object {
  return {
    requestRate: {
      onRunaway: dice.pick(["Report", "Throttle"]),
      ...(dice.chance(0.3) ? { threshold: dice.pick([20, 200, 1_000]) } : {}),
      ...(dice.chance(0.2) ? { for: dice.pick(["10s", "2m"]) } : {}),
      ...(dice.chance(0.2) ? { release: dice.pick(["1m", "15m"]) } : {}),
    },
  };
}
