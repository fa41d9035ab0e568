import type { Permission } from "../../core/intent";
import type { Remedy } from "../../core/remedy";
import { ConditionType } from "../../api/conditions";
import { rememberOnsets, TOKEN_CAUSES, type Onset } from "./cause";
import { blockOf, concludeTokens } from "./conclude";
import { decideTokens } from "./decide";
import type { Block, TokenRestartFacts } from "./facts";
import { createFinder, type Finder } from "./find-unauthorized";
import { LogWatch } from "./log-watch";
import { SandboxTraces } from "./sandbox-traces";
import { observeTokens, onsetsOf } from "./observe";

/** Everything that this remedy can ever touch. */
const MAY: readonly Permission[] = [
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
  onsets: readonly Onset[];
}

/** Restarts pods whose requests are persistently answered 401 because their ServiceAccount token is dead. */
export function createTokenRestart(): Remedy<"tokenRestart", TokenRestartFacts> {
  const memories = new Map<string, Memory>();
  /** Refused evictions by the pod's uid. How long each is to wait is the executor's to say. */
  const blocks = new Map<string, Block>();

  function recall(key: string, extraPatterns: readonly string[]): Memory {
    const patterns = JSON.stringify(extraPatterns);
    const known = memories.get(key);
    if (known?.patterns === patterns) return known;
    const kept = known ?? { logs: new LogWatch(), sandboxes: new SandboxTraces(), onsets: [] };
    const memory = { ...kept, patterns, finder: createFinder(extraPatterns), onsets: [] };
    memories.set(key, memory);
    return memory;
  }

  return {
    name: "token-restart",
    key: "tokenRestart",
    condition: ConditionType.TokensAccepted,
    may: MAY,
    causes: TOKEN_CAUSES,

    async observe(object, spec, from) {
      const { namespace, name, generation } = object.metadata;
      const memory = recall(`${namespace}/${name}`, spec.extraPatterns);
      if ("invalid" in memory.finder) return invalidPattern(generation, memory.finder.invalid);
      const facts = await observeTokens(object, spec, from, { ...memory, find: memory.finder.find });
      const nowMs = from.clock.now().getTime();
      memory.onsets = rememberOnsets(memory.onsets, onsetsOf(facts.workloads, nowMs), nowMs);
      const onsets = [...memories.values()].flatMap(other => other.onsets);
      return { ...facts, onsets, blocks: standing(blocks, nowMs) };
    },

    decide: decideTokens,

    conclude(decision, outcomes, now) {
      for (const carried of outcomes) {
        const block = blockOf(carried, now);
        if (block !== undefined) blocks.set(block.podUID, block);
      }
      return concludeTokens(decision, outcomes, now);
    },

    forget: key => void memories.delete(key),
  };
}

/** Those whose wait is not over; the others are forgotten. */
function standing(blocks: Map<string, Block>, nowMs: number): Block[] {
  for (const [podUID, { untilMs }] of blocks) if (untilMs <= nowMs) blocks.delete(podUID);
  return [...blocks.values()];
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
