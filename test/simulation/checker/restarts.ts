import { keyOfObject } from "../cluster/ground";
import type { Obj } from "../server/objects";
import {
  actingOn,
  blockOf,
  createdMs,
  desiredOf,
  entriesOf,
  holderOf,
  mayBeTried,
  podsOf,
  restartsStalls,
} from "./objects";
import type { Memory } from "./memory";
import { isReady, onEviction, type Report, type Sight, type Truth, workloadOf } from "./sight";

// Promises 1 to 3: who is evicted, how many at a time, and how often.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** What is down is looked at so often. */
const LOOK_MS = 5_000;

/**
 * A pod that was dead so short a time ago may still be evicted: a 401 counts as fresh for 60 s (docs/adr/0006), longer where the operator's clock is
 * behind, and a pass and the eviction take their time.
 */
const ON_ITS_WAY_MS = 60_000 + 30_000;

/** An own 401 in the log counts for so long: the window of the persistent 401 (docs/adr/0006). */
export const OWN_401_MS = 15 * MINUTE;

/** For so long it is unknown whether an unproven restart of a young program has helped (docs/adr/0024). */
const WATCHED_MS = 30 * MINUTE;

/** Unproven restarts of pods that work, in an hour, in the whole cluster. */
const MOST_UNPROVEN = 2;

/** Two evictions are at least this far apart, but for the time that requests are on their way; of the second one, a fifth if its token is proven dead. */
const PACE_MS = 10_000 - 2_000;
const PROVEN_PACE_MS = 2_000 - 500;

/** Causes of which the operator has a proof. */
const PROVEN: readonly Truth["cause"][] = ["service-account-recreated", "key-rotated"];

/** Causes without proof. */
const UNPROVEN = /^(Unknown|CniCredentialRejected|LeaseNotRenewed|ProgressStopped)$/;

/** Happenings that concern workloads alone, not the operator, its status or the API servers. */
const OF_WORKLOADS = /^(tighten-budget|pods-refused|.*-binding|mistype-expiry|own-enforcer|delete-pod|roll-out)/;

/**
 * An eviction whose successor is awaited: a Ready pod that was created later. The eviction of a pod that was not Ready takes no further one down
 * (docs/remedies/token-restart.md), so its successor needs only be there.
 */
interface Down {
  /** Since 1970. */
  readonly atMs: number;
  readonly uid: string;
  readonly wasReady: boolean;
  readonly name: string;
  readonly node: string | undefined;
}

function ordinalOf({ name }: Pick<Down, "name">): number {
  return Number(/\d+$/.exec(name)?.[0] ?? 0);
}

/** Checks every eviction at the moment when it is served. */
export function checkRestarts(sight: Sight, memory: Memory, report: Report): void {
  const checks = new RestartChecks(sight, memory, report);
  sight.clock.every(LOOK_MS, () => checks.look());
  // It may be scaled down for a moment, and back.
  for (const kind of ["deployments", "statefulsets", "daemonsets"]) sight.store.subscribe(kind, () => checks.look());
  onEviction(sight, (pod, { atMs }) => checks.evicted(pod, atMs));
}

class RestartChecks {
  readonly #evictions: { readonly atMs: number; readonly pod: string; readonly uid: string }[] = [];
  /** The evictions of a workload that have no successor yet. */
  readonly #down = new Map<string, readonly Down[]>();
  readonly #poisoned = new Map<string, { readonly atMs: number; readonly uid: string }>();
  readonly #unproven: { readonly atMs: number; readonly uid: string }[] = [];

  constructor(
    private readonly sight: Sight,
    private readonly memory: Memory,
    private readonly report: Report,
  ) {}

  look(): void {
    for (const key of this.#down.keys()) this.#settle(key);
  }

  evicted(pod: Obj, atMs: number): void {
    const workload = workloadOf(pod) ?? `Pod/${pod.metadata.name}`;
    const key = `${pod.metadata.namespace ?? ""}/${workload}`;
    const truths = this.#truthsOf(pod);
    this.#mayBe(pod, truths, atMs);
    this.#fewAtATime(key, pod);
    const wasDead = atMs - this.memory.deadMs(pod.metadata.uid) <= this.#onItsWayMs();
    // By the rhythm of its 401s a pod may count as dead for longer (docs/adr/0006).
    const diedOf = this.#hasOwn401(truths) ? [this.memory.deadOf(pod.metadata.uid)] : [];
    const isProven = [...diedOf, ...truths.map(({ cause }) => cause)].some(cause => cause && PROVEN.includes(cause));
    this.#seldom(key, atMs, wasDead || isProven ? PROVEN_PACE_MS : PACE_MS);
    if (truths.some(({ cause }) => cause === "workers-poisoned")) this.#onlyOnce(key, pod);
    this.#evictions.push({ atMs, pod: pod.metadata.name, uid: pod.metadata.uid });
  }

  /** The eviction has been served, so the pod is being terminated by now. */
  #truthsOf({ metadata }: Obj): readonly Truth[] {
    const truths = this.sight.truths().filter(({ uid }) => uid === metadata.uid);
    return truths.map(truth => {
      const before = this.memory.before(truth.uid).find(({ container }) => container === truth.container);
      if (truth.state !== "terminating" || before === undefined) return truth;
      const { state, cause } = before;
      return { ...truth, state, cause };
    });
  }

  /** Promise 1. */
  #mayBe(pod: Obj, truths: readonly Truth[], atMs: number): void {
    if (this.#isExcused(pod, atMs)) return;
    const deadMs = this.memory.deadMs(pod.metadata.uid);
    if (truths.some(({ healedByRestart }) => healedByRestart) || atMs - deadMs <= this.#onItsWayMs()) return;
    const own = this.#hasOwn401(truths);
    const name = keyOfObject(pod);
    const states = truths.map(({ container, state, cause }) => `${container}: ${state}, ${cause}`).join("; ");
    const isHeld = truths.some(
      ({ state }) =>
        /^(credential-dead|hangs|loses-lease|stuck)$/.test(state) || (/^token-/.test(state) && this.#lostLease(pod)),
    );
    if (!own && !isHeld) {
      this.report(1, `evicted ${name}, which no restart heals and whose log has no own 401 (${states})`);
      return;
    }
    this.#unproven.push({ atMs, uid: pod.metadata.uid });
    const isUnknown = (one: { readonly atMs: number; readonly uid: string }): boolean =>
      this.memory.isForgotten(one.atMs, one.uid) || this.#isReset(one.atMs) || this.#isMasked(one.atMs);
    const counted = this.#unproven.filter(one => !isUnknown(one) && !this.memory.hasHelped(one.uid));
    const recent = counted.filter(one => atMs - one.atMs < HOUR).length;
    if (recent > MOST_UNPROVEN)
      this.report(1, `evicted ${name}, the ${recent}th restart in vain within an hour (${states})`);
    if (this.#hasTripped()) this.report(1, `evicted ${name}, although two restarts without proof did not help`);
  }

  #hasOwn401(truths: readonly Truth[]): boolean {
    const nowMs = this.sight.clock.now().getTime();
    return truths.some(({ logged401Ms = -Infinity }) => nowMs - logged401Ms <= OWN_401_MS);
  }

  /** Its requests for its Lease are refused, and an object asks for a restart then: a log that says nothing cannot tell it from one that hangs. */
  #lostLease(pod: Obj): boolean {
    const { namespace, name } = pod.metadata;
    const held = this.sight.store.list("leases", namespace).filter(lease => holderOf(lease) === name);
    const renewedMs = held.map(({ spec }) => Date.parse(spec?.renewTime ?? ""));
    const isLate = renewedMs.some(ms => this.sight.clock.now().getTime() - ms >= MINUTE);
    return isLate && actingOn(this.sight.store, pod).some(restartsStalls);
  }

  #isExcused(pod: Obj, atMs: number): boolean {
    return mayBeTried(this.sight.store, pod) || this.#isForged(pod, atMs) || this.#wasBroughtBack(pod);
  }

  /** A backup has just brought back an evicted pod: until its kubelet has reported, it looks as it did before. */
  #wasBroughtBack({ metadata: { uid } }: Obj): boolean {
    const before = this.#evictions.filter(one => one.uid === uid);
    return before.some(({ atMs }) => this.memory.sinceTakenBackMs(atMs) <= this.#onItsWayMs());
  }

  /** A successor that is restarted with proof does not show any more the outcome of the restart before (docs/adr/0024). */
  #isMasked(atMs: number): boolean {
    const untilMs = Math.min(this.sight.clock.monotonicMs(), atMs + WATCHED_MS);
    return this.sight.plan.happenings.some(one => one.what === "rotate-key" && one.atMs > atMs && one.atMs < untilMs);
  }

  /** Who may write Events of the agent's own namespace is believed (docs/adr/0013). */
  #isForged({ metadata: { namespace } }: Obj, atMs: number): boolean {
    const forged = this.sight.plan.happenings.filter(({ what, on }) => what === "events-forged" && on === namespace);
    return forged.some(one => atMs >= one.atMs && atMs <= one.atMs + (one.forMs ?? 0) + ON_ITS_WAY_MS);
  }

  /** Two within an hour that status calls in vain, while nothing could hide them from the leader, or reset the breaker. */
  #hasTripped(): boolean {
    if (!this.sight.plan.happenings.every(({ what }) => OF_WORKLOADS.test(what))) return false;
    const restarts = this.sight.store.list("controllerresiliences").flatMap(entriesOf);
    const inVain = restarts.filter(({ cause, outcome }) => UNPROVEN.test(cause) && outcome === "Ineffective");
    const times = inVain.map(({ time }) => Date.parse(time)).sort((a, b) => a - b);
    return times.some((ms, at) => at > 0 && ms - times[at - 1]! < HOUR);
  }

  /** Whether a person has reset the breaker since, so that the count began again. */
  #isReset(atMs: number): boolean {
    const nowMs = this.sight.clock.monotonicMs();
    return this.sight.plan.happenings.some(one => one.what === "breaker-reset" && one.atMs > atMs && one.atMs <= nowMs);
  }

  /** Promise 2. */
  #fewAtATime(key: string, pod: Obj): void {
    const acting = actingOn(this.sight.store, pod);
    const most = Math.max(1, ...acting.map(object => blockOf(object, "tokenRestart").maxUnavailable!));
    const wasReady = isReady(pod);
    const { uid, name } = pod.metadata;
    const others = this.#settle(key).filter(one => one.uid !== uid);
    const down = [...others, { atMs: this.sight.clock.now().getTime(), uid, wasReady, name, node: pod.spec?.nodeName }];
    this.#down.set(key, down);
    // A StatefulSet creates no successor before all pods of lower numbers are Ready.
    const isHeldUp = (one: Down): boolean =>
      !wasReady && key.includes("/StatefulSet/") && ordinalOf(one) > ordinalOf({ name });
    const alike = down.filter(one => one.wasReady === wasReady && !isHeldUp(one)).length;
    if (alike > most)
      this.report(2, `evicted ${pod.metadata.name}: ${alike} pods of ${key} are down, maxUnavailable is ${most}`);
    const isOther = ({ metadata: { uid, deletionTimestamp } }: Obj): boolean =>
      uid !== pod.metadata.uid && deletionTimestamp === undefined;
    const siblings = podsOf(this.sight.store, key).filter(isOther);
    // What a stuck rollout adds to a workload of one pod, which has no other to serve meanwhile, is not waited for.
    if (!wasReady || siblings.length === 0 || desiredOf(this.sight.store, key) < 2 || siblings.some(isReady)) return;
    const dead = this.sight
      .truths()
      .filter(({ healedByRestart, state }) => healedByRestart || state === "unreachable")
      .map(({ uid }) => uid);
    const isDead = ({ metadata }: Obj): boolean => dead.includes(metadata.uid);
    if (siblings.every(isDead)) return;
    this.report(2, `evicted ${pod.metadata.name}, the last Ready pod of ${key}`);
  }

  /** Promise 3. */
  #seldom(key: string, atMs: number, paceMs: number): void {
    const last = this.#evictions.at(-1);
    if (last !== undefined && atMs - last.atMs < paceMs)
      this.report(3, `evicted pods ${atMs - last.atMs} ms apart: ${last.pod}, then one of ${key}`);
  }

  /** A restart for work that was due, and that moved nothing, is the last one of a day, unless a person changes the object. */
  #onlyOnce(key: string, pod: Obj): void {
    const objects = actingOn(this.sight.store, pod).map(({ metadata: { uid, generation } }) => `${uid} ${generation}`);
    const once = `${key} ${objects.join()}`;
    const last = this.#poisoned.get(once);
    if (last !== undefined && !this.memory.isForgotten(last.atMs, last.uid))
      this.report(3, `evicted ${pod.metadata.name} again, which meets the same poison`);
    this.#poisoned.set(once, { atMs: this.sight.clock.now().getTime(), uid: pod.metadata.uid });
  }

  #onItsWayMs(): number {
    return ON_ITS_WAY_MS + Math.max(...this.sight.plan.operators.map(Math.abs));
  }

  /** Evictions that have no successor yet. A workload that needs fewer pods needs no successor, and neither does a pod that a backup has brought back. */
  #settle(key: string): readonly Down[] {
    const pods = podsOf(this.sight.store, key).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const ready = pods.filter(isReady);
    const desired = desiredOf(this.sight.store, key);
    // A DaemonSet does not wait for a node that does not answer.
    const away = this.sight.store.list("nodes").filter(node => key.includes("/DaemonSet/") && !isReady(node));
    const young = { ready: ready.map(createdMs), all: pods.map(createdMs) };
    const left = (this.#down.get(key) ?? []).filter(({ atMs, uid, wasReady, node }) => {
      const [serving, times] = wasReady ? [ready, young.ready] : [pods, young.all];
      const isBack =
        ready.some(({ metadata }) => metadata.uid === uid) || away.some(({ metadata }) => metadata.name === node);
      return serving.length < desired && !isBack && !takeOne(times, atMs);
    });
    this.#down.set(key, left);
    return left;
  }
}

/** Takes the first time after `atMs`, in whole seconds as the API has them, out of a list. */
function takeOne(times: number[], atMs: number): boolean {
  const at = times.findIndex(one => one >= Math.floor(atMs / 1_000) * 1_000);
  if (at >= 0) times.splice(at, 1);
  return at >= 0;
}
