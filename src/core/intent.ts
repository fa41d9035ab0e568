import type { Cause } from "../api/conditions";
import { pluralOf } from "./kinds";
import type { Right } from "./readers";

/** Points at one object of the cluster; `uid` and `resourceVersion` are preconditions of a write. */
export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** Something that a remedy may ever do, as a rule of the operator's ClusterRole. */
export interface Permission {
  readonly apiGroup: string;
  readonly resource: string;
  /** The only object that is meant; absent: every one. Of what is read, not of what an intent writes. */
  readonly name?: string;
  /** A path outside of the resources, such as `/metrics`; apiGroup and resource are empty then. */
  readonly url?: string;
  readonly verbs: readonly string[];
  /** One sentence for a person who reviews the rights. */
  readonly why: string;
  /** The value of the chart that grants it, and that is off by default. Absent: the chart always grants it. */
  readonly grantedBy?: string;
}

/** How often and how closely the pods of one workload may be restarted. All from the spec; durations in milliseconds. */
export interface RestartLimits {
  readonly cooldownMs: number;
  /** Per hour. */
  readonly maxRestarts: number;
}

/** What an intent that restarts something must say of itself, so that the executor can hold it against the budgets. */
export interface RestartClaim {
  /** Kind and name, as `Deployment/kai-scheduler`. */
  readonly workload: string;
  readonly pod: string;
  readonly podUID: string;
  /** Creation of the pod. Absent when the whole workload is rolled: then no other pod of the incident is left. */
  readonly podCreatedAtMs?: number;
  /** Creation of the workload's newest pod: a later one may be the successor. */
  readonly newestPodMs: number;
  /** Node of a DaemonSet's pod: its successor is the next pod there. */
  readonly nodeName?: string;
  readonly cause: Cause;
  /** The container whose log shows it. Absent: none does. */
  readonly container?: string;
  /** The ServiceAccount that the pod can't know, where that is proven: restarts of one incident share it. */
  readonly serviceAccountUID?: string;
  /** How long the pod had worked before the first sign of trouble. Absent: unknown, or the cause is proven. */
  readonly workedMs?: number;
  readonly limits: RestartLimits;
}

/** What an intent that begins the rollout of a changed pod template must say of itself: the operator rolls out one at a time. */
export interface RolloutClaim {
  /** Kind and name, as `DaemonSet/agent`. */
  readonly workload: string;
  /** Without a trial: the rollout goes on after it, or restores the template. */
  readonly goesOn?: true;
}

/** A write that a remedy wants. Plans are data: Observe mode and tests print the very plan that Enforce runs. */
export interface Intent {
  readonly verb: "create" | "apply" | "patch" | "delete" | "evict";
  readonly target: ObjectRef;
  /** Body of create, apply (server-side apply) and patch (JSON merge patch). */
  readonly body?: object;
  /** One sentence for people: why. It stands in Events and logs, so it holds no log text. */
  readonly why: string;
  /** Reason of the Event that describes it, such as `PodEvicted`. */
  readonly eventReason: string;
  /** Present on every intent that takes pods down. */
  readonly restart?: RestartClaim;
  /** Present on every intent that begins the rollout of a changed pod template. */
  readonly rollout?: RolloutClaim;
  /**
   * What it leads to, in short, of what is made for the owner with this uid: who undoes it makes the next write that leads there wait, whatever its
   * verb and the name of its target. Absent: an object outside of namespaces leads to its body, any other write to nothing that is watched.
   */
  readonly leadsTo?: { readonly of: string; readonly state: string };
  /** The skip annotation was seen on the target or its workload; the executor then leaves it alone. */
  readonly skip?: boolean;
}

/** The result of an intent. Outcomes are data, never exceptions. */
export type Outcome =
  | { readonly result: "Executed" }
  | { readonly result: "Observed" }
  | { readonly result: "Skipped" }
  | { readonly result: "NotLeader" }
  /** A budget, a cooldown, the overall pace or the time of a pass said no; worth trying again after that time. */
  | {
      readonly result: "Limited";
      readonly limit: LimitReason;
      readonly retryAfterMs: number;
      /** Sentences for people, where the limit alone does not say enough. */
      readonly detail?: string;
    }
  /** The API server said no for now: 429, such as a PodDisruptionBudget. */
  | { readonly result: "Blocked"; readonly message: string; readonly retryAfterMs: number }
  | { readonly result: "Forbidden"; readonly message: string }
  | { readonly result: "Conflict"; readonly message: string }
  | {
      readonly result: "Failed";
      readonly message: string;
      /** What the last try met, for the log, if the message tells of an earlier one. */
      readonly cause?: string;
      /** Not tried again before that time. Absent until the executor has set it. */
      readonly retryAfterMs?: number;
    };

/** The outcome of an intent that is deferred. */
export type Deferral = Extract<Outcome, { result: "Limited" }>;

/** An intent and its outcome. */
export interface Execution {
  readonly intent: Intent;
  readonly outcome: Outcome;
}

/** Which limit held an intent back. */
export type LimitReason =
  | "SamePass"
  | "PassTime"
  | "LeaderWarmup"
  | "OwnTrouble"
  | "Breaker"
  | "UnprovenRestart"
  | "Rollout"
  | "RestartPacer";

/** The names of limits in messages. */
const LIMITS: Readonly<Record<LimitReason, string>> = {
  SamePass: "another restart of the workload in the same pass",
  PassTime: "the time limit for the writes of one pass; the next pass continues",
  LeaderWarmup: "the new leader, which is still loading the restarts and rollouts of all namespaces",
  Breaker: "the restart breaker",
  OwnTrouble: "the operator's own trouble with the API server or its clock",
  UnprovenRestart: "another restart without proof, whose outcome is still open",
  Rollout: "the rollout of another DaemonSet",
  RestartPacer: "the operator's restart pace",
};

/** Results of writes that are still pending, the most severe first. */
const PENDING = ["Forbidden", "Failed", "Blocked", "Limited", "Conflict"] as const;

/** Returns the writes that are still pending, the most severe outcome first. */
export function pendingWrites(executions: readonly Execution[]): Execution[] {
  return PENDING.flatMap(result => executions.filter(({ outcome }) => outcome.result === result));
}

/** Describes a pending write and its outcome, such as `evict Pod a: held back by the restart breaker`. Contains no times, since each new message causes a write of status. */
export function describePending({ intent, outcome }: Execution): string {
  const { verb, target } = intent;
  return `${verb} ${target.kind} ${target.name}: ${describeOutcome({ outcome })}`;
}

/** Describes why a write is still pending. */
export function describeOutcome({ outcome }: Pick<Execution, "outcome">): string {
  if ("message" in outcome) return outcome.message;
  if (outcome.result !== "Limited") return outcome.result;
  return outcome.detail ?? `held back by ${LIMITS[outcome.limit]}`;
}

/** Returns the right that the API server checks for an intent. Pure. */
export function requiredPermission(intent: Intent): Right {
  // The Eviction is of group policy, but the subresource belongs to the pod.
  if (intent.verb === "evict") return { apiGroup: "", resource: "pods/eviction", verb: "create" };
  const { apiVersion, kind } = intent.target;
  const apiGroup = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  // Server-side apply is a patch, also when it creates.
  return { apiGroup, resource: pluralOf(kind) ?? kind, verb: intent.verb === "apply" ? "patch" : intent.verb };
}

/** Reports whether a remedy's permissions cover a right. */
export function isPermitted(required: Right, permissions: readonly Permission[]): boolean {
  return permissions.some(
    ({ apiGroup, resource, verbs }) =>
      apiGroup === required.apiGroup && resource === required.resource && verbs.includes(required.verb),
  );
}
