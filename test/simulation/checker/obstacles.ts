import type { WorkloadPlan } from "../cluster/install";
import { accountOf } from "../cluster/tokens";
import type { CauseName } from "../programs/causes";
import type { Obj } from "../server/objects";
import { actingOn, blockOf, desiredOf, holderOf, isSkipped, podsOf, restartsStalls, workloadIn } from "./objects";
import { isReady, onNewLeader, type Sight, type Truth, workloadOf } from "./sight";

// What keeps a pod from being healed, in truth: no object that acts, another pod that is down, or an API server that refuses the eviction.

const MINUTE = 60_000;

/** The operator tries a refused eviction again after five minutes at the latest (docs/reliability.md); a refusal counts for so long. */
const REFUSED_MS = 6 * MINUTE;

/** The kubelet renews the first token of a pod after 48 minutes; a ServiceAccount is created so much earlier that its clock does not matter. */
const FIRST_TOKEN_MS = 45 * MINUTE;

/** The keys are looked at every 70 s, and must last for two minutes (docs/adr/0025). */
const SEEN_MS = 5 * MINUTE;

/** The evidence that sees a cause, together with an own 401 in the log. */
const NEEDS: Partial<Readonly<Record<CauseName, string>>> = {
  "service-account-recreated": "ServiceAccountAge",
  "key-rotated": "Logs",
  "token-expired": "Logs",
};

/** One request to evict a pod of a workload. */
interface Asked {
  readonly workload: string;
  readonly atMs: number;
  readonly code: number;
  /** The pod's mounted token was accepted, so that nothing proved that it does not work. */
  readonly isUnproven: boolean;
}

/** A longer time between two writes of the operators' Lease has no leader. */
const LEASE_MS = 20_000;

/** Remembers evictions, since when each replica leads, and when none did. */
export class Obstacles {
  readonly #asked: Asked[] = [];
  /** Since when the same replica leads, or has been without a successor. */
  #leadsSinceMs = 0;
  #renewedMs = 0;
  readonly #leaderless: { readonly fromMs: number; readonly toMs: number }[] = [];

  constructor(private readonly sight: Sight) {
    sight.onRequest(({ resource, subresource, before, after, code, atMs }) => {
      if (subresource === "eviction" && before !== undefined) this.#ask(before, atMs, code);
      if (resource === "leases" && after !== undefined) this.#renewed(atMs);
    });
    onNewLeader(sight, (_, atMs) => void (this.#leadsSinceMs = atMs));
  }

  #renewed(atMs: number): void {
    if (atMs - this.#renewedMs > LEASE_MS) this.#leaderless.push({ fromMs: this.#renewedMs, toMs: atMs });
    this.#renewedMs = atMs;
  }

  /** For how long nobody led since its key was replaced: the tokens of the operators die with the key as well (docs/settings.md). */
  leaderlessMs({ cause, sinceMs }: Truth): number {
    if (cause !== "key-rotated") return 0;
    const later = this.#leaderless.filter(({ toMs }) => toMs > sinceMs);
    return later.reduce((sum, { fromMs, toMs }) => sum + toMs - Math.max(fromMs, sinceMs), 0);
  }

  /** Evictions of a workload that were served within the last hour. */
  recent(truth: Truth): readonly Asked[] {
    const sinceMs = this.sight.clock.monotonicMs() - 60 * MINUTE;
    return this.#asked.filter(({ workload, atMs, code }) => workload === keyOf(truth) && code < 300 && atMs > sinceMs);
  }

  /** How many pods were evicted without proof within the last hour, in the whole cluster. */
  unproven(): number {
    const sinceMs = this.sight.clock.monotonicMs() - 60 * MINUTE;
    return this.#asked.filter(({ isUnproven, atMs, code }) => isUnproven && code < 300 && atMs > sinceMs).length;
  }

  /** Whether the API server refuses to evict pods of a workload: for a budget, or by a webhook. */
  isRefused(truth: Truth): boolean {
    const last = this.#asked.findLast(({ workload }) => workload === keyOf(truth));
    const isLate = last === undefined || this.sight.clock.monotonicMs() - last.atMs > REFUSED_MS;
    return this.#isHeldByBudget(truth) || (!isLate && last.code >= 400);
  }

  /** Several budgets of one pod refuse as well. */
  #isHeldByBudget({ namespace, name }: Truth): boolean {
    const { store } = this.sight;
    const app = store.get("pods", namespace, name)?.metadata.labels?.["app"];
    const all = store.list("poddisruptionbudgets", namespace);
    const budgets = all.filter(({ spec }) => spec?.selector?.matchLabels?.["app"] === app);
    return budgets.length > 1 || budgets.some(({ status }) => status?.disruptionsAllowed === 0);
  }

  /** Whether other pods of the workload are down or missing, which a restart of this one would make worse. */
  isShort(truth: Truth): boolean {
    const { store } = this.sight;
    const others = podsOf(store, keyOf(truth)).filter(({ metadata }) => metadata.uid !== truth.uid);
    return others.filter(isReady).length < desiredOf(store, keyOf(truth)) - 1;
  }

  /** The object that acts on a pod: of several the oldest (docs/adr/0010). */
  actorOf(truth: Truth): Obj | undefined {
    const pod = this.sight.store.get("pods", truth.namespace, truth.name);
    if (pod === undefined || isSkipped(pod) || this.#isLeftAlone(truth)) return undefined;
    return actingOn(this.sight.store, pod).sort(byAge)[0];
  }

  /** That object, if it has evidence that sees the pod's cause. */
  healerOf(truth: Truth): Obj | undefined {
    const actor = this.actorOf(truth);
    return actor !== undefined && this.#sees(actor, truth) ? actor : undefined;
  }

  /** Whether its token died when the kubelet was about to renew it, so that it may be the renewed one: REFRESH_SLACK_MS of token-restart, and clocks. */
  mayBeRenewed(truth: Truth): boolean {
    const { clock, store } = this.sight;
    const bornMs = Date.parse(store.get("pods", truth.namespace, truth.name)?.metadata.creationTimestamp ?? "");
    const ageMs = clock.now().getTime() - clock.monotonicMs() + truth.sinceMs - bornMs;
    const everyMs = 800 * (this.planOf(truth)?.tokenSeconds ?? 3_607);
    return ageMs > everyMs / 2 && (ageMs + MINUTE) % everyMs < 5 * MINUTE;
  }

  /** Whether the key of its token was replaced while the clock of a replica was off, so that its leader cannot date that (docs/adr/0025). */
  isKeyUndated({ cause, sinceMs }: Truth): boolean {
    const jumps = this.sight.plan.happenings.filter(({ what }) => what === "clock-jumps");
    return (
      cause === "key-rotated" &&
      jumps.some(({ atMs, forMs = 0 }) => atMs <= sinceMs + SEEN_MS && sinceMs <= atMs + forMs)
    );
  }

  /** The workload as the plan of the world has it. */
  planOf({ namespace, workload }: Truth): WorkloadPlan | undefined {
    return this.sight.plan.workloads.find(one => one.namespace === namespace && workload.endsWith(`/${one.name}`));
  }

  #isLeftAlone(truth: Truth): boolean {
    const { namespace, workload } = truth;
    const plan = this.planOf(truth);
    const now = workloadIn(this.sight.store, namespace, workload);
    return plan === undefined || plan.updateStrategy !== undefined || now === undefined || isSkipped(now);
  }

  #sees(object: Obj, truth: Truth): boolean {
    if (truth.cause === "hangs") return restartsStalls(object) && this.#wasSeenRenewing(truth);
    if (truth.state === "stuck") return this.#seesStalls(object, truth);
    return this.#seesToken(object, truth);
  }

  #seesToken(object: Obj, truth: Truth): boolean {
    const needed = NEEDS[truth.cause];
    const { evidence = [], containers = [] } = blockOf(object, "tokenRestart");
    const isRead = containers.length === 0 || containers.includes(truth.container);
    if (!evidence.includes("Logs") && this.#hadRenewal(truth)) return false;
    return needed !== undefined && evidence.includes(needed) && isRead && truth.logged401Ms !== undefined;
  }

  /** Whether the kubelet may have renewed its token since its ServiceAccount was created: only a 401 then proves anything (docs/remedies/token-restart.md). */
  #hadRenewal({ namespace, name }: Truth): boolean {
    const pod = this.sight.store.get("pods", namespace, name);
    const account = this.sight.store.get("serviceaccounts", namespace, pod === undefined ? "" : accountOf(pod));
    const [bornMs = 0, sinceMs = 0] = [pod, account].map(one => Date.parse(one?.metadata.creationTimestamp ?? ""));
    return !(sinceMs - bornMs < FIRST_TOKEN_MS);
  }

  /** Queues show that all workers block, and the kind that work is due, if nothing has disturbed either. */
  #seesStalls(object: Obj, truth: Truth): boolean {
    const { progress, metrics } = blockOf(object, "stallDetection");
    const { changesEveryMinutes } = this.planOf(truth) ?? {};
    const isFollowed = progress !== undefined && metrics !== undefined && changesEveryMinutes !== undefined;
    return restartsStalls(object) && isFollowed && truth.sinceMs - this.#leadsSinceMs > 20 * MINUTE;
  }

  /** A Lease is judged if this leader has seen its holder renew it four times (docs/remedies/stall-detection.md), each up to 1.2 times its rhythm later. */
  #wasSeenRenewing(truth: Truth): boolean {
    const { renewsEverySeconds = 0 } = this.planOf(truth) ?? {};
    const held = this.sight.store.list("leases", truth.namespace).some(lease => holderOf(lease) === truth.name);
    return held && truth.sinceMs - this.#leadsSinceMs > Math.max(10 * MINUTE, 4 * 1_200 * renewsEverySeconds + MINUTE);
  }

  #ask(pod: Obj, atMs: number, code: number): void {
    const { uid, namespace = "" } = pod.metadata;
    const isProven = this.sight.truths().some(one => one.uid === uid && one.isTokenDead);
    this.#asked.push({ workload: `${namespace}/${workloadOf(pod) ?? ""}`, atMs, code, isUnproven: !isProven });
  }
}

function byAge(a: Obj, b: Obj): number {
  const [one, other] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp} ${metadata.name}`);
  return one! < other! ? -1 : 1;
}

/** Namespace, kind and name of the workload of a pod. */
export function keyOf({ namespace, workload }: Truth): string {
  return `${namespace}/${workload}`;
}
