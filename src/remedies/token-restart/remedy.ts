import type { Permission } from "../../core/intent";
import { keyOf } from "../../core/key";
import type { Key } from "../../core/ports";
import type { LegacyRemedy } from "../../core/legacy-remedy";
import { ConditionType } from "../../api/conditions";
import { TOKEN_CAUSES } from "./cause";
import { concludeTokens } from "./conclude";
import { decideTokens } from "./decide";
import type { TokenRestartFacts } from "./facts";
import { createFinder, type Finder } from "../../logs/detector";
import { KnownBlocks } from "./known-blocks";
import { KnownOnsets } from "./known-onsets";
import { LogWatch } from "../../logs/reading/log-watch";
import { SandboxTraces } from "./sandbox-traces";
import { observeTokens, onsetsOf } from "./observe";
import { REASONS } from "./reasons";

/** Everything that this remedy can ever touch. */
const PERMISSIONS: readonly Permission[] = [
  {
    apiGroup: "",
    resource: "pods/eviction",
    verbs: ["create"],
    why: "Replaces a pod whose token is dead; a PodDisruptionBudget is respected.",
  },
  {
    apiGroup: "",
    resource: "pods",
    verbs: ["list", "watch"],
    why: "Knows the pods of the targets, their age and their ServiceAccount.",
  },
  {
    apiGroup: "",
    resource: "events",
    verbs: ["list", "watch"],
    why: "Sees in Events of any namespace that a CNI agent's credential on a node is dead; only what the kubelet says of sandboxes is asked for.",
  },
  { apiGroup: "", resource: "pods/log", verbs: ["get"], why: "Finds the 401s that a pod's client logs." },
  {
    apiGroup: "",
    resource: "serviceaccounts",
    verbs: ["get", "list", "watch"],
    why: "Sees that a ServiceAccount is younger than a pod, or gone.",
  },
  {
    apiGroup: "apps",
    resource: "deployments",
    verbs: ["get", "list", "patch"],
    why: "Finds the targets; patch rolls one where the strategy is RolloutRestart.",
  },
  {
    apiGroup: "apps",
    resource: "statefulsets",
    verbs: ["get", "list", "patch"],
    why: "Finds the targets; patch rolls one where the strategy is RolloutRestart.",
  },
  {
    apiGroup: "apps",
    resource: "daemonsets",
    verbs: ["get", "list", "patch"],
    why: "Finds the targets; patch rolls one where the strategy is RolloutRestart.",
  },
];

/** What is remembered of one ControllerResilience. Losing it costs a look further back into the logs, nothing else. */
interface Memory {
  readonly logs: LogWatch;
  readonly sandboxes: SandboxTraces;
  readonly patterns: string;
  readonly finder: Finder;
}

/** Restarts pods whose requests are persistently answered 401 because their ServiceAccount token is dead. */
export function createTokenRestart(): LegacyRemedy<"tokenRestart", TokenRestartFacts> {
  const memories = new Map<Key, Memory>();
  const onsets = new KnownOnsets();
  const blocks = new KnownBlocks();

  function recall(key: Key, extraPatterns: readonly string[]): Memory {
    const patterns = JSON.stringify(extraPatterns);
    const known = memories.get(key);
    if (known?.patterns === patterns) return known;
    const kept = known ?? { logs: new LogWatch(), sandboxes: new SandboxTraces() };
    const memory = { ...kept, patterns, finder: createFinder(extraPatterns) };
    memories.set(key, memory);
    onsets.forget(key);
    return memory;
  }

  return {
    name: "token-restart",
    block: "tokenRestart",
    condition: ConditionType.TokensAccepted,
    reasons: REASONS,
    owns: "targets",
    permissions: PERMISSIONS,
    causes: TOKEN_CAUSES,

    async observe(object, spec, from) {
      const key = keyOf(object);
      const memory = recall(key, spec.extraPatterns);
      if ("invalid" in memory.finder) return invalidPattern(object.metadata.generation, memory.finder.invalid);
      const facts = await observeTokens(object, spec, from, { ...memory, find: memory.finder.find });
      const nowMs = from.clock.now().getTime();
      const known = onsets.remember(key, onsetsOf(facts.workloads, nowMs), nowMs);
      return { ...facts, onsets: known, blocks: blocks.standing(nowMs) };
    },

    decide: decideTokens,

    conclude(decision, outcomes, now) {
      blocks.note(outcomes, now);
      return concludeTokens(decision, outcomes, now);
    },

    forget(key) {
      memories.delete(key);
      onsets.forget(key);
    },
  };
}

function invalidPattern(generation: number, message: string): TokenRestartFacts {
  const nothing = { restarts: [], previousTargets: [], missingTargets: [], workloads: [], undecided: [], problems: [] };
  return {
    ...nothing,
    generation,
    mode: "Enforce",
    onsets: [],
    blocks: [],
    nextReadInMs: Infinity,
    invalidPattern: message,
  };
}
