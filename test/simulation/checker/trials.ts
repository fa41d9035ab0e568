import type { Obj, Spec, Template } from "../server/objects";
import { Lasting } from "./lasting";
import { acts, objectsOf } from "./objects";
import { onEviction, type Report, type Sight, type Truth, workloadOf } from "./sight";

// Promise 7: a shorter token is tried on one node, for its whole life, and taken back where it does harm.

/** The pod of a trial that its token broke is whole again after this. */
const BROKEN_MS = 40 * 60_000;

/** Between the write and the pod's own times, and between clocks. */
const CLOCKS_MS = 60_000;

/** The operator knows what has been so for this long. */
const KNOWN_MS = 30_000;

interface Trial {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly sinceMs: number;
  readonly lifeMs: number;
}

/** Checks every write of a DaemonSet, every eviction of its pods, and what the shorter token does to them. */
export function checkTrials(sight: Sight, report: Report): void {
  const trials = new Trials(sight, report);
  sight.clock.every(30_000, () => trials.look());
  sight.onRequest(({ resource, verb, code, before, after }) => {
    if (resource === "daemonsets" && verb === "patch" && code < 300 && before && after) trials.written(before, after);
  });
  onEviction(sight, (pod, { atMs }) => trials.evicted(pod, atMs));
}

class Trials {
  /** By uid of the DaemonSet. */
  readonly #trials = new Map<string, Trial>();
  /** Pods that a shorter token broke. */
  readonly #broken: Lasting;
  /** Since when a node of a trial has no pod, by uid of the DaemonSet. */
  readonly #missingMs = new Map<string, number>();

  constructor(
    private readonly sight: Sight,
    private readonly report: Report,
  ) {
    this.#broken = new Lasting(sight, report, { promise: 7, mostMs: BROKEN_MS });
  }

  written(before: Obj, after: Obj): void {
    const { uid, name, namespace } = after.metadata;
    const [old, next] = [secondsOf(templateOf(before)), secondsOf(templateOf(after))];
    const trial = this.#trials.get(uid);
    if (next < old) {
      this.#forgetEnded();
      const other = [...this.#trials.values()].find(one => one.name !== name && !this.#isHeld(one));
      if (other !== undefined) this.report(7, `tries shorter tokens of ${name} and of ${other.name} at the same time`);
      if (isOnDelete(after)) this.#trials.set(uid, { namespace, name, sinceMs: this.#nowMs(), lifeMs: 1_000 * next });
      else this.report(7, `shortened the tokens of ${name} on all nodes at once`);
    } else if (trial !== undefined && !isOnDelete(after)) {
      if (next === old) this.#passed(after, trial);
      this.#trials.delete(uid);
    }
  }

  /** A person has suspended its object, or lets it only observe, so that others may begin. */
  #isHeld({ namespace }: Trial): boolean {
    const objects = this.sight.store.list("controllerresiliences", namespace);
    const owners = objects.filter(({ spec }) => spec?.["tokenLifetime"] !== undefined);
    return owners.length > 0 && !owners.some(one => acts(one, "tokenLifetime"));
  }

  /** The rollout goes on with the other nodes. */
  #passed({ metadata: { name, uid } }: Obj, { sinceMs, lifeMs }: Trial): void {
    if (this.#nowMs() - sinceMs < lifeMs - CLOCKS_MS)
      this.report(7, `ended the trial of ${name} before its first token had expired`);
    const broken = this.#shortPods(uid).find(pod => this.#isBroken(pod) || this.#isNodeBroken(pod));
    if (broken !== undefined) this.report(7, `rolled a token out that ${broken.metadata.name} does not survive`);
  }

  evicted(pod: Obj, atMs: number): void {
    const { uid: owner = "" } = pod.metadata.ownerReferences?.find(({ controller }) => controller === true) ?? {};
    const trial = this.#trials.get(owner);
    const isPlanned = trial !== undefined && secondsOf(pod) > trial.lifeMs / 1_000 && !this.#isBroken(pod);
    if (!isPlanned) return;
    const { name } = pod.metadata;
    const down = this.#downFor(owner, pod);
    if (down !== undefined) this.report(2, `evicted ${name} for a trial, and ${down} has been down for a while`);
    const first = this.#shortPods(owner).find(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (first !== undefined && atMs > trial.sinceMs)
      this.report(7, `evicted ${name}, although ${first.metadata.name} tries the shorter token`);
  }

  look(): void {
    this.#noteMissing(this.#forgetEnded());
    this.#followBroken();
  }

  /** Others may have ended a trial: a GitOps tool, or a person who deletes the DaemonSet. Returns the DaemonSets of open ones. */
  #forgetEnded(): readonly Obj[] {
    const open = this.sight.store.list("daemonsets").filter(isOnDelete);
    for (const uid of this.#trials.keys())
      if (!open.some(({ metadata }) => metadata.uid === uid)) this.#trials.delete(uid);
    return open;
  }

  #followBroken(): void {
    const broken = new Set(this.sight.truths().flatMap(truth => (isBroken(truth) ? truth.uid : [])));
    const pods = this.sight.store.list("pods").filter(one => broken.has(one.metadata.uid) && this.#isHarmed(one));
    for (const { metadata } of pods)
      this.#broken.note(metadata.uid, `${metadata.name} has been broken by its shorter token`, Infinity);
    this.#broken.forget();
  }

  #noteMissing(daemonSets: readonly Obj[]): void {
    const pods = daemonSets.length === 0 ? [] : this.sight.store.list("pods");
    const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const owners = alive.flatMap(({ metadata: { ownerReferences = [] } }) => ownerReferences.map(({ uid }) => uid));
    const short = daemonSets.filter(({ metadata: { uid }, status }) => {
      const { desiredNumberScheduled = 0 } = status ?? {};
      return owners.filter(owner => owner === uid).length < desiredNumberScheduled;
    });
    const since = new Map(this.#missingMs);
    this.#missingMs.clear();
    for (const one of short) this.#missingMs.set(one.metadata.uid, since.get(one.metadata.uid) ?? this.#nowMs());
  }

  /**
   * A broken pod with a shorter token, as long as the operator has not taken that back. Once it has, the DaemonSet controller replaces the pod. Who
   * creates a DaemonSet with a shorter token has chosen it (docs/remedies/token-lifetime.md).
   */
  #isHarmed(pod: Obj): boolean {
    const [kind, name = ""] = (workloadOf(pod) ?? "").split("/");
    const plan = this.sight.plan.workloads.find(one => one.name === pod.metadata.labels?.["app"]);
    const isShorter = (one: { readonly spec?: Partial<Spec> }): boolean =>
      secondsOf(one) < (plan?.tokenSeconds ?? Infinity);
    const daemonSet = this.sight.store.get("daemonsets", pod.metadata.namespace, name);
    if (kind !== "DaemonSet" || daemonSet === undefined || !isShorter(pod)) return false;
    const isOurs = daemonSet.metadata.managedFields?.some(({ manager }) => manager === "controller-resilience");
    const isKept = isOnDelete(daemonSet) || isShorter(templateOf(daemonSet));
    return isOurs === true && isKept && objectsOf(this.sight.store, pod).some(object => acts(object, "tokenLifetime"));
  }

  #isBroken({ metadata: { uid } }: Obj): boolean {
    return this.sight.truths().some(truth => truth.uid === uid && isBroken(truth));
  }

  /** The copy of a shorter token that its agent left on the node is dead, and nothing writes it again. */
  #isNodeBroken({ metadata: { uid } }: Obj): boolean {
    return this.sight.truths().some(truth => truth.uid === uid && truth.cause === "cni-credential");
  }

  /** Another pod of a DaemonSet that is down for so long that the operator knows it. */
  #downFor(owner: string, { metadata: { uid } }: Obj): string | undefined {
    const isDown = (pod: Obj): boolean => {
      const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
      const sinceMs = this.sight.clock.now().getTime() - Date.parse(ready?.lastTransitionTime ?? "");
      return ready?.status !== "True" && sinceMs > KNOWN_MS;
    };
    const others = this.sight.store.list("pods").filter(({ metadata }) => {
      return metadata.uid !== uid && metadata.ownerReferences?.some(one => one.uid === owner) === true;
    });
    const isMissing = this.#nowMs() - (this.#missingMs.get(owner) ?? Infinity) > KNOWN_MS;
    return others.find(isDown)?.metadata.name ?? (isMissing ? "another one" : undefined);
  }

  #shortPods(uid: string): Obj[] {
    const { lifeMs = 0 } = this.#trials.get(uid) ?? {};
    const isOwn = ({ metadata }: Obj): boolean => metadata.ownerReferences?.some(owner => owner.uid === uid) === true;
    return this.sight.store.list("pods").filter(pod => isOwn(pod) && secondsOf(pod) <= lifeMs / 1_000);
  }

  #nowMs(): number {
    return this.sight.clock.monotonicMs();
  }
}

function isBroken({ cause, logged401Ms }: Truth): boolean {
  return cause === "token-expired" && logged401Ms !== undefined;
}

function templateOf(daemonSet: Obj): Template {
  return daemonSet.spec!.template;
}

/** The life of the shortest token that a pod or a template mounts; Infinity if it only mounts the default one. */
function secondsOf({ spec: { volumes = [] } = {} }: { readonly spec?: Partial<Spec> }): number {
  const found = volumes.flatMap(({ projected }) =>
    (projected?.sources ?? []).flatMap(({ serviceAccountToken: token }) =>
      token === undefined ? [] : (token.expirationSeconds ?? 3_600),
    ),
  );
  // The admission plugin gives pods the default token with 3607 s, which is extended to a year.
  return Math.min(...found.map(seconds => (seconds === 3_607 ? Infinity : seconds)));
}

function isOnDelete(daemonSet: Obj): boolean {
  return daemonSet.spec?.updateStrategy?.type === "OnDelete";
}
