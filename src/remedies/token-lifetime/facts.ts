import type { DaemonSetStatus, TokenLifetimeSpec } from "../../api/controller-resilience";
import type { LogVerdict } from "../../core/log-judge";
import type { DaemonSetView, PodView } from "../../core/views";
import { planTemplate, type TemplateInput, type TemplatePlan } from "./template";

/** All that a decision rests on: plain data, as observed. */
export interface TokenLifetimeFacts {
  readonly mode: "Enforce" | "Observe";
  /** Of the ControllerResilience: changes are counted for each. */
  readonly generation: number;
  readonly daemonSets: readonly DaemonSetFacts[];
  /** DaemonSet targets that don't exist (yet). */
  readonly missingTargets: readonly string[];
  /** How often the API server has been shown a token past its asked-for life; null where that is not known. */
  readonly staleTokens: number | null;
  /** When the next log read is due. */
  readonly nextReadInMs: number;
  /** What status tells of DaemonSets that don't exist now. */
  readonly kept: readonly DaemonSetStatus[];
}

/** One DaemonSet of the targets. */
export interface DaemonSetFacts {
  readonly view: DaemonSetView;
  /** automountServiceAccountToken of its ServiceAccount. */
  readonly automount?: boolean;
  /** Of this very object, not of a predecessor of the same name. */
  readonly record?: DaemonSetStatus;
  readonly pods: readonly PodFacts[];
}

/** One of its pods. */
export interface PodFacts {
  readonly pod: PodView;
  /** Its logs; unread as well where they were not asked for. */
  readonly verdict: LogVerdict;
  /** It is older than its ServiceAccount: whatever is answered 401, a shorter token is not the cause. */
  readonly isOlderThanAccount: boolean;
}

/** The block of the spec. */
export type Spec = TokenLifetimeSpec;

/** What the planner needs of a DaemonSet. */
export function inputOf({ view, automount }: Pick<DaemonSetFacts, "view" | "automount">): TemplateInput {
  return { template: view.template, automount, ownedVolumes: view.ownedVolumes };
}

/** What has to be applied so that its tokens are bounded. */
export function planOf(facts: Pick<DaemonSetFacts, "view" | "automount" | "record">, spec: Spec): TemplatePlan {
  return planTemplate(inputOf(facts), spec, facts.record?.previous);
}

/** A pod whose token is bounded; one that mounts none is as well. */
export function isBounded({ mountsToken, tokenExpirationSeconds }: PodView, spec: Spec): boolean {
  return mountsToken !== true || (tokenExpirationSeconds ?? Infinity) <= spec.expirationSeconds;
}

/** A shorter token is in it by this remedy's change. */
export function isCanary({ mountsToken, tokenExpirationSeconds }: PodView, spec: Spec): boolean {
  return mountsToken === true && (tokenExpirationSeconds ?? Infinity) <= spec.expirationSeconds;
}

/** After a change its pods' logs are watched for an hour and two lives of a token: what does not read its token again fails after one. */
export function isWatched(record: DaemonSetStatus | undefined, spec: Spec, nowMs: number): boolean {
  if (record?.appliedTime === undefined || record.outcome === "Reverted") return false;
  return nowMs < Date.parse(record.appliedTime) + 3_600_000 + 2_000 * spec.expirationSeconds;
}
