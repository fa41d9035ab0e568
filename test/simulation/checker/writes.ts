import { isWrite } from "../server/journal";
import type { Obj } from "../server/objects";
import type { Store } from "../server/store";
import { Lasting, Lately } from "./lasting";
import { acts, actingOn, holderOf, isSkipped, workloadIn } from "./objects";
import { type Entry, type Report, type Sight, workloadOf } from "./sight";

// Promises 4 and 14: who writes what, and what never leaves.

/** What every replica may do without leading. */
const OF_ALL = new Set(["leases", "events"]);

/** The Lease of a leader lasts so long; the times of two requests differ a little. */
const LEASE_MS = 14_500;

/** A leader stops so long after it has sent its last renewal, and what it has sent until then takes some seconds to arrive. */
const LEADS_MS = 9_900;
const LED_MS = 20_000;

/** Who leads is looked at so often. */
const LOOK_MS = 30_000;

/** Verbs of requests that must name the version or the uid of what they change. */
const NEEDS_PRECONDITION: Readonly<Record<string, readonly string[]>> = {
  daemonsets: ["patch"],
  rolebindings: ["patch"],
  clusterrolebindings: ["patch"],
  flowschemas: ["delete"],
  prioritylevelconfigurations: ["delete"],
  controllerresiliences: ["update"],
};

/** A token of the operator that died is renewed after eight minutes (deploy/install.yaml), and the Lease taken 25 s later. */
export const LEADERLESS_MS = 10 * 60_000;

/** A pass that failed is repeated at once, and after a part of a second, and so on (src/engine/loop/requeue.ts). */
const REPEATED_MS = 45_000;

/** Failures of a write of status after which its pass is repeated, and nothing asks to wait. */
const REPEATED: ReadonlySet<number> = new Set([409, 500, 502, 504]);

/** Checks every write when it is served. Reviews change nothing, nor do requests for the token that metrics are read with. */
export function checkWrites(sight: Sight, report: Report): void {
  const lead = new LeadHistory(sight, report);
  const acting = new Lately(sight, () => actedOn(sight));
  const objections: readonly [promise: number, isBroken: (entry: Entry) => boolean, why: string][] = [
    [4, entry => !OF_ALL.has(entry.resource) && !lead.mayWrite(entry.from), ", and it does not lead"],
    [4, entry => isDone(entry) && needsPrecondition(entry) && !hasPrecondition(entry), " without a precondition"],
    [4, entry => isUnwanted(entry, acting), ", and no object that acts names its workload"],
    [14, ({ body = "" }) => SECRET.test(body), " with a token or a text of a log in it"],
  ];
  checkRepeats(sight, lead, report);
  sight.onRequest(entry => {
    if (!isWrite(entry) || entry.resource === "serviceaccounts") return;
    for (const [promise, isBroken, why] of objections) if (isBroken(entry)) report(promise, `${whatOf(entry)}${why}`);
  });
}

/** A pass whose record of a restart failed takes it back at once, with the version from before. */
const SAME_PASS_MS = 1_000;

/** Before that nothing may have failed for so long: the backoff of a pass doubles. */
const FINE_MS = 60_000;

/** Promise 11: a status that could not be written is soon written, or its object read again, not only by the next full pass. */
function checkRepeats(sight: Sight, lead: LeadHistory, report: Report): void {
  const askedMs = new Map<string, number>();
  const failedMs = new Map<string, number>();
  const recordedMs = new Map<string, number>();
  sight.onRequest(entry => {
    const { from, resource, namespace = "", name = "", code, atMs } = entry;
    const key = `${from} ${namespace}/${name}`;
    const fineMs = Math.min(...[namespace, ""].map(space => sinceMs(failedMs, `${from} ${space}`, atMs)));
    if (hasFailed(entry)) failedMs.set(`${from} ${namespace}`, atMs);
    if (resource !== "controllerresiliences" || name === "") return;
    askedMs.set(key, atMs);
    if (isRecord(entry)) recordedMs.set(key, atMs);
    const isExpected = fineMs < FINE_MS || sinceMs(recordedMs, key, atMs) < SAME_PASS_MS;
    if (isExpected || !isRefusedStatus(entry)) return;
    const pods = podsIn(sight, namespace);
    sight.clock.after(REPEATED_MS, () => {
      const isThere = sight.store.get(resource, namespace, name) !== undefined;
      // A pass on caches asks for nothing if what it would write is past.
      const isPast = podsIn(sight, namespace) !== pods;
      if (isThere && !isPast && lead.mayWrite(from) && askedMs.get(key) === atMs)
        report(
          11,
          `${from}: the status of ${namespace}/${name} was refused with ${code}, and the pass is not repeated`,
        );
    });
  });
}

/** Changes when pods come, go or change. */
function podsIn({ store }: Sight, namespace: string): string {
  const pods = store.list("pods", namespace);
  return pods.map(({ metadata: { uid, resourceVersion } }) => `${uid} ${resourceVersion}`).join();
}

function hasFailed({ code }: Entry): boolean {
  return code === 0 || code >= 400;
}

function sinceMs(times: ReadonlyMap<string, number>, key: string, nowMs: number): number {
  return nowMs - (times.get(key) ?? -Infinity);
}

/** The record of a restart that is about to be requested: without it, the restart has its own backoff, of up to ten minutes. */
function isRecord({ subresource, body = "" }: Entry): boolean {
  return subresource === "status" && body.includes('"outcome":"Requested"');
}

function isRefusedStatus({ subresource, code }: Entry): boolean {
  return subresource === "status" && REPEATED.has(code);
}

function isUnwanted(entry: Entry, acting: Lately): boolean {
  return isEviction(entry) && isDone(entry) && entry.before !== undefined && !acting.has(entry.before.metadata.uid);
}

function whatOf({ from, verb, resource, namespace = "", name = "" }: Entry): string {
  return `${from}: ${verb} ${resource} ${namespace}/${name}`;
}

function isEviction({ subresource }: Entry): boolean {
  return subresource === "eviction";
}

function needsPrecondition(entry: Entry): boolean {
  return NEEDS_PRECONDITION[entry.resource]?.includes(entry.verb) === true || isEviction(entry);
}

function isDone({ code }: Entry): boolean {
  return code >= 200 && code < 300;
}

/** What identifies the Eviction itself is none for its pod. */
function hasPrecondition(entry: Entry): boolean {
  const body = JSON.parse(entry.body ?? "{}") as unknown;
  const { metadata, deleteOptions, preconditions } = body as {
    metadata?: { resourceVersion?: string; uid?: string };
    deleteOptions?: { preconditions?: { uid?: string } };
    preconditions?: { uid?: string };
  };
  const ofEviction = [deleteOptions?.preconditions?.uid];
  const given = isEviction(entry) ? ofEviction : [metadata?.resourceVersion, metadata?.uid, preconditions?.uid];
  return Array.isArray(body) || given.some(one => one !== undefined);
}

/** A token, or a part of one, and what only logs of the simulated programs contain. */
const SECRET =
  /(?<![\w-])eyJ[\w-]{8,}|reflector\.go|leaderelection\.go|scraper\.go|controller\.go:\d|ApiException|Traceback|Failure executing|Unhandled Error|UnhandledError/;

/** Promise 14 of what is no request: the operators' metrics a minute before the end, and their logs. @returns looks at the logs */
export function checkTexts(sight: Sight, report: Report): () => void {
  const check = (text: string): boolean => {
    const found = SECRET.exec(text)?.[0];
    if (found !== undefined) report(14, `wrote ${found} to its log or its metrics: ${text.slice(0, 300)}`);
    return found !== undefined;
  };
  sight.clock.after(sight.plan.lastsMs - 60_000, () => void sight.metrics().then(texts => texts.some(check)));
  return () =>
    void sight.logs.some(({ line }) => check(`${line.message} ${JSON.stringify(line.fields, errorsAsText)}`));
}

function errorsAsText(_: string, value: unknown): unknown {
  return value instanceof Error ? `${value.message} ${String(value.cause)}` : value;
}

/** Who holds the operator's Lease, when it was last renewed, and who says that it leads. */
class LeadHistory {
  readonly #renewedMs = new Map<string, number>();
  /** Lines of the operators' logs that were looked at. */
  #read = 0;

  constructor(
    private readonly sight: Sight,
    private readonly report: Report,
  ) {
    const lasting = new Lasting(sight, report, { promise: 9, mostMs: LEADERLESS_MS });
    sight.clock.every(LOOK_MS, () => {
      if (![...this.#renewedMs.keys()].some(pod => this.mayWrite(pod)))
        lasting.note("lead", "no replica leads", sight.calmSinceMs());
      lasting.forget();
    });
    sight.onRequest(entry => {
      this.#readLogs();
      if (entry.resource === "leases" && isDone(entry)) this.#note(entry);
    });
  }

  #note({ before, after }: Entry): void {
    const [old = "", holder] = [holderOf(before), holderOf(after)];
    if (holder === undefined) {
      // Released, or emptied by a person, which ends no lead.
      this.#renewedMs.delete(old);
      return;
    }
    const agoMs = this.#agoMs(old);
    if (old !== holder && agoMs < LEASE_MS)
      this.report(4, `${holder} took the Lease ${agoMs} ms after ${old} had renewed it`);
    this.#renewedMs.set(holder, this.sight.clock.monotonicMs());
  }

  #readLogs(): void {
    if (this.#read === this.sight.logs.length) return;
    const news = this.sight.logs.slice(this.#read);
    this.#read = this.sight.logs.length;
    for (const { pod } of news.filter(({ line }) => line.message === "started leading"))
      for (const other of this.#renewedMs.keys())
        if (other !== pod && this.#agoMs(other) < LEADS_MS)
          this.report(4, `${pod} leads ${this.#agoMs(other)} ms after ${other} had renewed the Lease`);
  }

  #agoMs(pod: string): number {
    return this.sight.clock.monotonicMs() - (this.#renewedMs.get(pod) ?? -Infinity);
  }

  mayWrite(from: string): boolean {
    return this.#agoMs(from) <= LED_MS;
  }
}

/** Uids of the pods that an object that acts names: all pods of a workload that are not skipped. */
function* actedOn({ store }: Sight): Generator<string> {
  const known = new Map<string, boolean>();
  for (const pod of store.list("pods").filter(one => !isSkipped(one))) {
    const key = `${pod.metadata.namespace ?? ""}/${workloadOf(pod) ?? ""}`;
    const isActing = known.get(key) ?? isActedOn(store, pod);
    known.set(key, isActing);
    if (isActing) yield pod.metadata.uid;
  }
}

function isActedOn(store: Store, pod: Obj): boolean {
  const { namespace } = pod.metadata;
  const workload = workloadIn(store, namespace, workloadOf(pod) ?? "");
  if (workload !== undefined && isSkipped(workload)) return false;
  if (actingOn(store, pod).length > 0) return true;
  // tokenLifetime replaces one pod for its trial.
  return store.list("controllerresiliences", namespace).some(object => acts(object, "tokenLifetime"));
}
