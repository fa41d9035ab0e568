import { parseDuration } from "../../../src/core/time";
import { keyOfObject } from "../cluster/ground";
import type { Obj } from "../server/objects";
import {
  actingOn,
  type Block,
  blockOf,
  entriesOf,
  mayBeTried,
  podsOf,
  type RestartEntry,
  restartsOf,
  restartsStalls,
} from "./objects";
import type { Memory } from "./memory";
import { OWN_401_MS } from "./restarts";
import { clocksMs, type Entry, onEviction, onNewLeader, type Report, type Sight, workloadOf } from "./sight";

// Promise 3 in status: a restart is recorded before it is requested, and kept; and those in vain are far apart.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Entries that status keeps whatever they are, and for how long each counts (docs/adr/0010). */
const KEPT = 10;
const COUNTS_MS = 55 * MINUTE;

/** Objects that are younger have lost the status of a predecessor. */
const YOUNG_MS = MINUTE;

/** At most one restart without proof is open in the cluster. Of one that seems to help, the outcome is not known before this. */
const OPEN_MS = MINUTE;

/** A pod that was dead so short a time ago was not evicted in vain. */
const DEAD_LATELY_MS = 3 * MINUTE;

/** A token that was refused so long ago is no witness. */
const WITNESSED_MS = 20 * MINUTE;

/** Between the record of a restart and its eviction, and back to the next. */
const REQUEST_MS = MINUTE;

/** So many restarts of one workload without proof that did not help are enough, whatever maxRestarts says (docs/adr/0005). */
const MOST_UNPROVEN = 2;

/** A later pod that does it again for so long, while nothing hides that, is seen: a Lease takes the longest (NOTICED_WITHIN in healing.ts). */
const SEEN_MS = 12 * MINUTE;

/** What a program does again after each start, within an hour: its restart never counts as one that helped. */
const AGAIN: ReadonlySet<string> = new Set(["other-cluster", "hangs-again", "loses-lease", "workers-poisoned"]);

/** Causes that only logs or Leases show, and that no restart mends. */
const IN_VAIN: ReadonlySet<string> = new Set([
  ...["other-cluster", "noisy", "hangs-again", "loses-lease", "workers-poisoned"],
  ...["servers-refuse", "key-disputed"],
]);

interface Eviction {
  readonly atMs: number;
  readonly pod: Obj;
  readonly workload: string;
  /** The object that has recorded it. */
  readonly object: Obj | undefined;
  readonly isInVain: boolean;
  /** In vain, and so would be each one after it. */
  readonly isHopeless: boolean;
  /** Uids of the pods that its workload had. */
  readonly had: readonly string[];
}

/** Checks every eviction, and every status that is written after it. */
export function checkRecords(sight: Sight, memory: Memory, report: Report): void {
  const records = new Records(sight, memory, report);
  sight.onRequest(entry => {
    const { resource, subresource, code, after } = entry;
    if (subresource === "eviction") records.asked(entry);
    if (resource === "controllerresiliences" && subresource === "status" && code === 200 && after !== undefined)
      records.reported(after);
  });
  onEviction(sight, (pod, { atMs }) => records.evicted(pod, atMs));
}

class Records {
  readonly #evictions: Eviction[] = [];
  /** Restarts that an API server has refused since the same process leads, by namespace, name and time: another one does not know. */
  readonly #refused = new Set<string>();
  /** Uids of the pods whose restart status has called in vain. */
  readonly #judged = new Set<string>();
  /** Those that a later pod has shown to be in vain. */
  readonly #shown = new Set<Eviction>();

  constructor(
    private readonly sight: Sight,
    private readonly memory: Memory,
    private readonly report: Report,
  ) {
    onNewLeader(sight, () => this.#refused.clear());
    sight.clock.every(MINUTE, () => this.#look());
  }

  #look(): void {
    const nowMs = this.sight.clock.monotonicMs();
    for (const { cause, isTokenDead, sinceMs, namespace, name, workload } of this.sight.truths()) {
      if (!AGAIN.has(cause) || isTokenDead) continue;
      const pod = this.sight.store.get("pods", namespace, name);
      const seenMs = Math.min(nowMs - sinceMs, this.sight.calmSinceMs(namespace));
      if (pod !== undefined && seenMs >= SEEN_MS) this.#shows(pod, `${namespace}/${workload}`);
    }
  }

  /** Only a later pod shows that a restart was in vain, within an hour (docs/adr/0005): one that is scaled away before has shown nothing. */
  #shows({ metadata: { uid }, spec }: Obj, workload: string): void {
    const mayShow = ({ isHopeless, had, ...one }: Eviction): boolean =>
      isHopeless &&
      one.workload === workload &&
      !had.includes(uid) &&
      (!workload.includes("/DaemonSet/") || one.pod.spec?.nodeName === spec?.nodeName);
    const last = this.#evictions.findLast(mayShow);
    if (last !== undefined && this.sight.clock.monotonicMs() - last.atMs < HOUR) this.#shown.add(last);
  }

  /** The newest entry of a pod is of the request that is made now. */
  asked({ namespace, name, code, isLost = false }: Entry): void {
    if (code < 400 || code >= 500 || code === 404 || isLost) return;
    const entries = this.sight.store.list("controllerresiliences", namespace).flatMap(entriesOf);
    const [time] = entries
      .filter(({ pod }) => pod === name)
      .map(one => one.time)
      .sort()
      .slice(-1);
    if (time !== undefined) this.#refused.add(`${namespace ?? ""}/${name ?? ""} ${time}`);
  }

  evicted(pod: Obj, atMs: number): void {
    const objects = this.sight.store.list("controllerresiliences", pod.metadata.namespace);
    const object = objects.find(one => restartsOf(one).includes(pod.metadata.uid));
    const isYoung = objects.some(
      one => this.sight.clock.now().getTime() - Date.parse(one.metadata.creationTimestamp) < YOUNG_MS,
    );
    if (object === undefined && objects.length > 0 && !isYoung)
      this.report(3, `evicted ${pod.metadata.name}, and no status has recorded that before`);
    if (!isYoung) this.#asked(pod, objects);
    const workload = `${pod.metadata.namespace ?? ""}/${workloadOf(pod) ?? pod.metadata.name}`;
    const isInVain = this.#isInVain(pod, atMs);
    const isHopeless = isInVain && this.memory.before(pod.metadata.uid).some(({ cause }) => AGAIN.has(cause));
    const had = podsOf(this.sight.store, workload).map(({ metadata }) => metadata.uid);
    const eviction = { atMs, pod, workload, object, isInVain, isHopeless, had };
    this.#served(keyOfObject(pod));
    if (isInVain) this.#inVain(eviction);
    this.#evictions.push(eviction);
    this.memory.evicted(pod);
  }

  /** After a 401 the operator asks again, with its new credentials. */
  #served(pod: string): void {
    for (const key of this.#refused) if (key.startsWith(`${pod} `)) this.#refused.delete(key);
  }

  #inVain(eviction: Eviction): void {
    const { pod, atMs, workload, isHopeless } = eviction;
    if (isHopeless) this.#shows(pod, workload);
    this.#farApart(eviction);
    if (this.#isContradicted(pod, atMs))
      this.report(1, `evicted ${pod.metadata.name}, although no API server has refused any token lately`);
  }

  /** Fresh 401s in the log of any of its containers are another reason. */
  #asked({ metadata: { uid, name } }: Obj, objects: readonly Obj[]): void {
    const nowMs = this.sight.clock.now().getTime();
    const isAsked = objects.some(restartsStalls);
    const before = this.memory.before(uid);
    const hangs = before.some(({ cause, isTokenDead }) => cause === "hangs" && !isTokenDead);
    const logged401Ms = Math.max(...before.map(({ logged401Ms: ofContainer = -Infinity }) => ofContainer));
    if (!hangs || isAsked || nowMs - logged401Ms <= OWN_401_MS) return;
    this.report(4, `evicted ${name}, which hangs, and no object asks for that`);
  }

  /** Each restart of the object must be there. */
  reported(object: Obj): void {
    const { uid, namespace = "", name } = object.metadata;
    const known = restartsOf(object);
    for (const { pod, time, outcome } of entriesOf(object))
      if (outcome !== "Requested" && this.#refused.delete(`${namespace}/${pod} ${time}`))
        this.report(3, `the status of ${namespace}/${name} counts a restart of ${pod}, which was refused`);
    for (const entry of entriesOf(object)) if (entry.outcome === "Ineffective") this.#failed(object, entry);
    const own = this.#evictions.filter(one => one.object?.metadata.uid === uid);
    for (const { pod, atMs } of own.slice(-KEPT))
      if (this.#counts(atMs, pod.metadata.uid) && !known.includes(pod.metadata.uid))
        this.report(3, `the status of ${namespace}/${name} forgets the restart of ${pod.metadata.name}`);
  }

  /** A restart is said to have failed, for the first time, and nothing has happened since. */
  #failed({ metadata: { namespace = "", name } }: Obj, { pod, podUID: uid = "" }: RestartEntry): void {
    const eviction = this.#evictions.find(one => one.pod.metadata.uid === uid);
    if (eviction === undefined || this.#judged.has(uid) || clocksMs(this.sight) > MINUTE) return;
    this.#judged.add(uid);
    if (this.sight.calmSinceMs(namespace) < this.sight.clock.monotonicMs() - eviction.atMs) return;
    const why = this.#whyNot(eviction);
    if (why !== undefined)
      this.report(3, `the status of ${namespace}/${name} says that the restart of ${pod} failed, and ${why}`);
  }

  #whyNot({ pod: { metadata }, workload }: Eviction): string | undefined {
    const { namespace, name, uid } = metadata;
    if (this.sight.store.get("pods", namespace, name)?.metadata.uid === uid) return "it still ends";
    const pods = this.sight.truths().filter(one => `${one.namespace}/${one.workload}` === workload);
    const wasDead = this.memory.before(uid).some(({ healedByRestart }) => healedByRestart);
    const isWhole = pods.length > 0 && pods.every(({ state }) => state === "works");
    return wasDead && isWhole ? "all its pods work" : undefined;
  }

  #counts(atMs: number, uid: string): boolean {
    return this.sight.clock.monotonicMs() - atMs < COUNTS_MS && !this.memory.isForgotten(atMs, uid);
  }

  #isInVain(pod: Obj, atMs: number): boolean {
    const { uid } = pod.metadata;
    if (mayBeTried(this.sight.store, pod)) return false;
    const isDead = atMs - this.memory.deadMs(uid) <= DEAD_LATELY_MS + clocksMs(this.sight);
    return !isDead && this.memory.before(uid).some(({ cause }) => IN_VAIN.has(cause));
  }

  /** Logs alone say that it is refused, and the counters of several servers that no client is; nothing has kept them from being read. */
  #isContradicted({ metadata: { uid } }: Obj, atMs: number): boolean {
    const { servers, happenings } = this.sight.plan;
    const isQuiet = happenings.every(one => one.atMs > atMs || one.atMs + (one.forMs ?? 0) < atMs - WITNESSED_MS);
    const isByLog = this.memory.before(uid).every(({ state }) => state === "works");
    return isByLog && servers > 1 && isQuiet && atMs - this.sight.refusedMs() > WITNESSED_MS;
  }

  #farApart({ atMs, workload, pod, object, isHopeless }: Eviction): void {
    const isCounted = ({ isInVain, atMs: at, pod: { metadata } }: Eviction): boolean =>
      isInVain && !this.memory.isForgotten(at, metadata.uid) && !this.memory.hasHelped(metadata.uid);
    const before = this.#evictions.filter(isCounted);
    const last = before.at(-1);
    // After minDuration its successor may be rejected.
    if (last !== undefined && atMs - last.atMs < Math.min(OPEN_MS, this.#leastMs(last.pod, "minDuration", "60s")))
      this.report(
        3,
        `evicted ${last.pod.metadata.name} and ${pod.metadata.name} in vain: two at a time, without proof`,
      );
    const own = before.findLast(one => one.workload === workload);
    const ofObject = before.filter(
      one => one.workload === workload && one.object?.metadata.uid === object?.metadata.uid,
    );
    const most = Math.max(...this.#restartBlocks(pod).map(({ maxRestarts = 3 }) => maxRestarts));
    const shown = ofObject.filter(one => this.#shown.has(one)).length;
    const counted = ofObject.filter(one => this.#shown.has(one) || atMs - one.atMs < COUNTS_MS).length;
    if (counted >= most || (isHopeless && shown >= MOST_UNPROVEN))
      this.report(3, `evicted pods of ${workload} ${counted + 1} times in vain; maxRestarts is ${most}`);
    const least = this.#leastMs(pod, "cooldown", "10m") - clocksMs(this.sight) - REQUEST_MS;
    if (own === undefined || atMs - own.atMs >= least) return;
    const minutes = Math.round((atMs - own.atMs) / MINUTE);
    this.report(3, `evicted pods of ${workload} in vain, ${minutes} min apart: less than the cooldown`);
  }

  #restartBlocks(pod: Obj): Block[] {
    return actingOn(this.sight.store, pod).map(object => blockOf(object, "tokenRestart"));
  }

  #leastMs(pod: Obj, field: "cooldown" | "minDuration", usual: string): number {
    return Math.min(...this.#restartBlocks(pod).map(block => parseDuration(block[field] ?? usual)));
  }
}
