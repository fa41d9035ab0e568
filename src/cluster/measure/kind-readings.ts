import { ForbiddenError, GoneError, type Problem, problemOf, TerminalError, WaitError } from "../../core/errors";
import { arrayOf, isNamedIn, type JsonObject, objectOf, textOf } from "../../core/json";
import { apiVersionOf, KINDS } from "../../core/kinds";
import {
  guessResource,
  type KindQuestion,
  type KindReading,
  type KindWriters,
  resourcesIn,
  UNREAD_KIND,
} from "../../core/progress";
import { inSlices, type Steps } from "../../core/slices";
import { askedMs, type Clock, doubled, formatDuration, pause, TokenBucket } from "../../core/time";
import { isOfStatus, kindObject, KindTrack, type Listed, writesOf } from "../../evidence/progress/follow";
import { isWellKnown } from "../../evidence/progress/well-known";
import type { Api } from "../http/api";
import { FairLimiter } from "../http/fair-limiter";
import { callOf, LARGE_PAGES, listPages, METADATA_ONLY, PAGE_SIZE, type Resource } from "../http/resources";
import { Rounds } from "./rounds";

/** Time between two readings of a kind, in milliseconds. After a failure it doubles, up to five minutes. */
const INTERVAL = { firstMs: 60_000, lastMs: 300_000 };

/** What follows a message that a kind may not be read. */
export const ALLOW_KIND =
  "; allow it in a ClusterRole with the label controller-resilience.io/aggregate-to-progress=true";

/** Kinds that are read at the same time, in all and of one group: the API server of a group may hang. */
const CONCURRENT = 4;
const CONCURRENT_PER_GROUP = 1;

/** Two lists may fail; a reading that is older, in milliseconds, shows nothing. */
const MAX_AGE_MS = 180_000;

/** Definitions of due that are followed, of all kinds together: each remembers an answer for each object of its kind. */
const MAX_DEFINITIONS = 100;

/** Time in which this process was frozen, or had no answers, shows nothing. */
const LONGEST_GAP_MS = 150_000;

/** How long a first question waits for the first reading. */
const FIRST_MS = 5_000;

/** A page that takes longer shows that the API server is in trouble, and controllers with it. */
const SLOW_MS = 5_000;

/** Objects of a kind that are remembered. */
const MAX_OBJECTS = 20_000;

/** Whole objects that are read one by one in a round of one kind; with more the whole kind is listed, if that was not done for some time. */
const MAX_LOOKS = 20;
const WHOLE_LIST_MS = 300_000;

/** The same of all kinds. */
const LOOKS = { burst: 60, ratePerSecond: 1 };

/** What is known of one kind. */
interface Known {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: Resource;
  readonly track: KindTrack;
  /** The last reading that succeeded. */
  readMs: number;
  /** Since when all have succeeded. */
  steadyMs: number;
  /** The last whole list. */
  wholeMs: number;
  /** Why the last reading failed, and how many in a row did. */
  failure?: Problem | undefined;
  failures: number;
  /** By uid: objects that the list has, but whose own reading failed. */
  readonly unreadable: Set<string>;
}

function begin({ apiVersion, kind }: KindQuestion): Known {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  return {
    ...{ apiVersion, kind, resource: { group, version, plural: guessResource(kind) }, track: new KindTrack() },
    ...{ readMs: -Infinity, steadyMs: Infinity, wholeMs: -Infinity, failures: 0, unreadable: new Set() },
  };
}

/**
 * Reads the objects of the kinds that are asked for every minute: as metadata, by one list of the whole cluster for all who ask. Only an object
 * that has changed is read as a whole, to answer the questions. Ends by itself when it is not asked any more.
 */
export class KindReadings {
  readonly #api: Pick<Api, "json" | "jsonOrNull">;
  readonly #clock: Clock;
  readonly #rounds: Rounds<Known>;
  readonly #looks: TokenBucket;
  readonly #limiter = new FairLimiter(CONCURRENT);

  constructor({ api, clock }: { readonly api: Pick<Api, "json" | "jsonOrNull">; readonly clock: Clock }) {
    this.#api = api;
    this.#clock = clock;
    this.#rounds = new Rounds(clock, known => this.#read(known));
    this.#looks = new TokenBucket(this.#clock, LOOKS);
  }

  /** What is known of the objects of a kind; the first question begins to read them, and waits for that for some seconds. Never throws. */
  async kind(question: KindQuestion): Promise<KindReading> {
    const { apiVersion, kind, due } = question;
    const key = `${apiVersion} ${kind}`;
    for (const { track } of this.#rounds.all) track.keepSince(this.#rounds.oldestMs);
    const definitions = this.#rounds.all.flatMap(({ track }) => track.definitions);
    const isNew = this.#rounds.get(key)?.track.definitions.includes(due) !== true;
    if (isNew && definitions.length >= MAX_DEFINITIONS) return { ...UNREAD_KIND, unknown: tooMany(kind) };
    const { known, first } = this.#rounds.want(key, () => begin(question));
    // Only a whole list answers a new question for all objects.
    if (!known.track.ask(question, this.#clock.monotonicMs())) known.wholeMs = -Infinity;
    if (known.readMs === -Infinity && known.failure === undefined)
      await Promise.race([first, pause(this.#clock, FIRST_MS)]);
    return readingOf(known, question, this.#clock.monotonicMs());
  }

  /** Returns the time until the next reading. */
  async #read(known: Known): Promise<number> {
    const share = { key: known.resource.group, limit: CONCURRENT_PER_GROUP };
    const release = await this.#limiter.acquire([share], new AbortController().signal);
    try {
      await this.#readNow(known);
      [known.failures, known.failure] = [0, undefined];
      return INTERVAL.firstMs;
    } catch (error) {
      // A controller may have worked meanwhile.
      known.steadyMs = Infinity;
      const { forbidden, message } = problemOf(error);
      known.failure = { forbidden, message: forbidden ? message + ALLOW_KIND : message };
      return Math.max(doubled(INTERVAL, known.failures++), askedMs(error));
    } finally {
      release();
    }
  }

  async #readNow(known: Known): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    const { wholeMs, readMs, failure, track } = known;
    // It may appear later, or go.
    if (readMs === -Infinity || failure !== undefined) await this.#find(known);
    const isMuch = (): boolean => startedMs - wholeMs >= WHOLE_LIST_MS && track.outdated().length > MAX_LOOKS;
    const isWhole = readMs === -Infinity || wholeMs === -Infinity || isMuch();
    if (isWhole) known.wholeMs = startedMs;
    const { listed, isSlow } = await this.#list(known, isWhole);
    const nowMs = this.#clock.monotonicMs();
    if (failure !== undefined || nowMs - readMs > LONGEST_GAP_MS || isSlow) known.steadyMs = nowMs;
    track.note(listed, nowMs);
    known.readMs = nowMs;
    await this.#look(known);
  }

  /** @throws TerminalError if there is no resource of the kind, or not the one on which admission checks the author's rights */
  async #find({ apiVersion, kind, resource }: Known): Promise<void> {
    const found = (await servedResources(this.#api, apiVersion)).find(one => one.kind === kind);
    if (found === undefined) throw new TerminalError(`kind ${kind} of ${apiVersion} does not exist (yet)`);
    if (found.plural === resource.plural) return;
    const why = `expected the resource ${resource.plural}, for which the author's rights are checked, got ${found.plural}`;
    throw new TerminalError(`kind ${kind} of ${apiVersion}: ${why}`);
  }

  async #list(known: Known, isWhole: boolean): Promise<{ listed: Listed[]; isSlow: boolean }> {
    const { kind, resource, track } = known;
    const startedMs = this.#clock.monotonicMs();
    const listed: Listed[] = [];
    let pages = 0;
    const size = isWhole ? { limit: PAGE_SIZE } : { limit: LARGE_PAGES.limit / 4, accept: METADATA_ONLY };
    // An object that is too large must not keep the others from being read.
    const options = { onUnread: () => undefined };
    for await (const { items } of listPages(this.#api, { resource, ...size }, options)) {
      pages++;
      await inSlices(this.#clock, addItems(items, listed, isWhole ? track : undefined));
      if (listed.length > MAX_OBJECTS)
        throw new TerminalError(`kind ${kind}: expected at most ${MAX_OBJECTS} objects, got more`);
    }
    return { listed, isSlow: this.#clock.monotonicMs() - startedMs > SLOW_MS * Math.max(1, pages) };
  }

  /** Reads objects as a whole for which an answer is missing, as far as the budget allows; those that could not be read before come last. */
  async #look({ resource, track, unreadable }: Known): Promise<void> {
    const outdated = track.outdated().toSorted((a, b) => Number(unreadable.has(a.uid)) - Number(unreadable.has(b.uid)));
    for (const { uid, namespace, name } of outdated.slice(0, MAX_LOOKS)) {
      if (!this.#looks.take()) return;
      unreadable.delete(uid);
      const call = callOf("get", resource, { namespace: namespace === "" ? undefined : namespace, name });
      try {
        const raw = await this.#api.jsonOrNull<JsonObject>(call);
        const object = kindObject(raw);
        if (raw !== null && object !== undefined) track.noteWhole(object, raw, this.#clock.monotonicMs());
      } catch (error) {
        if (error instanceof ForbiddenError || error instanceof WaitError) throw error;
        unreadable.add(uid);
        return;
      }
    }
  }
}

function* addItems(items: readonly unknown[], listed: Listed[], track: KindTrack | undefined): Steps {
  for (const item of items) {
    const object = kindObject(item);
    if (object !== undefined)
      listed.push({ object, ...(track && { answers: track.answersFor(object, objectOf(item)) }) });
    yield;
  }
}

/** A reading holds until it is too old: one list that fails is no news. Before the first, another process may have found it stuck, and told so. */
function readingOf(known: Known, question: KindQuestion, nowMs: number): KindReading {
  const { kind, track, readMs, failure } = known;
  const reading = track.reading(question);
  const steadyMs = Math.max(reading.steadyMs, known.steadyMs);
  if (nowMs - readMs <= MAX_AGE_MS) return { ...reading, steadyMs };
  const late = `could not be listed for more than ${formatDuration(MAX_AGE_MS)}`;
  const message = `the objects of kind ${kind} ${readMs === -Infinity ? "are not read yet" : late}`;
  return { ...reading, steadyMs, unknown: failure ?? { forbidden: false, message } };
}

function tooMany(kind: string): Problem {
  const what = `kind ${kind} has one definition of due more than the ${MAX_DEFINITIONS} that the operator follows`;
  return { forbidden: false, isLasting: true, message: `${what}; use the default, or one that another object uses` };
}

/** Returns the kinds of a group and version, with their resources; none if it is not served. */
async function servedResources(api: Pick<Api, "jsonOrNull">, apiVersion: string) {
  const path = `/${apiVersion.includes("/") ? "apis" : "api"}/${apiVersion.split("/").map(encodeURIComponent).join("/")}`;
  return resourcesIn(await api.jsonOrNull<JsonObject>({ what: `get the resources of ${apiVersion}`, path }));
}

// Who writes the status of kinds, for suggestions of what to follow.

/** Time between two readings, in milliseconds, and after one that failed: a suggestion is not urgent. */
const WRITERS_MS = 3_600_000;
const WRITERS_RETRY_MS = 600_000;

/** Time between two requests, in milliseconds. */
const PAUSE_MS = 1_000;

/** Most kinds that are read, by the order of their groups. */
const MAX_KINDS = 50;

/** Objects of a kind that are read: controllers write the status of each alike. */
const OBJECTS = 20;

/** Groups of which the operator reads kinds for other reasons; their controllers are parts of Kubernetes. */
const BUILT_IN: ReadonlySet<string> = new Set(Object.values(KINDS).map(({ group }) => group));

function isForeign(group: unknown): boolean {
  return typeof group === "string" && group.includes(".") && !BUILT_IN.has(group);
}

/** What the operator may list, as a rule of a SelfSubjectRulesReview. */
type Rule = Readonly<Record<"apiGroups" | "resources", readonly unknown[]>>;

/** A kind that an entry of `stallDetection.progress` may name. */
type FollowableKind = Resource & { readonly kind: string };

type WritersApi = Pick<Api, "json" | "jsonOrNull">;

/**
 * Returns what reads who writes the status of the kinds that the operator may list, as ClusterRoles for `stallDetection.progress` allow it: one small
 * page of metadata per kind and hour. Without such a right, one review of its own rights. It returns what was read last, and undefined before; it ends
 * by itself when it is not asked any more.
 */
export function kindWriters(api: WritersApi, clock: Clock): () => readonly KindWriters[] | undefined {
  const rounds = new Rounds<{ found?: readonly KindWriters[] }>(clock, async known => {
    try {
      known.found = await readWriters(api, clock, known.found ?? []);
      return WRITERS_MS;
    } catch (error) {
      // What cannot be read now stays as it was known.
      if (error instanceof ForbiddenError || error instanceof GoneError) known.found = [];
      return WRITERS_RETRY_MS;
    }
  });
  return () => rounds.want("", () => ({})).known.found;
}

async function readWriters(api: WritersApi, clock: Clock, before: readonly KindWriters[]): Promise<KindWriters[]> {
  const found: KindWriters[] = [];
  for (const one of await followableKinds(api, clock)) {
    const { kind } = one;
    const apiVersion = apiVersionOf(one);
    await pause(clock, PAUSE_MS);
    try {
      found.push({ apiVersion, kind, writers: await writersOf(one, api) });
    } catch (error) {
      if (error instanceof ForbiddenError || error instanceof GoneError) continue;
      found.push(...before.filter(old => old.apiVersion === apiVersion && old.kind === kind));
    }
  }
  return found;
}

/** Of objects for which the default definition of due has an answer, by their metadata alone. */
async function writersOf({ kind, ...resource }: FollowableKind, api: WritersApi): Promise<string[]> {
  const list = { resource, limit: OBJECTS, maxBytes: LARGE_PAGES.maxBytes, accept: METADATA_ONLY };
  const page = await listPages(api, list, { onUnread: () => undefined }).next();
  const writes = (page.value?.items ?? []).map(item => writesOf(item).filter(isOfStatus));
  const isCounted = ({ fieldsV1 }: JsonObject): boolean =>
    "f:observedGeneration" in objectOf(objectOf(fieldsV1)["f:status"]);
  const followable = writes.filter(ofOne => isWellKnown(resource.group, kind) || ofOne.some(isCounted));
  return [...new Set(followable.flat().flatMap(({ manager }) => textOf(manager) ?? []))];
}

/** The kinds that the operator may list, of the preferred version of their group. */
async function followableKinds(api: WritersApi, clock: Clock): Promise<FollowableKind[]> {
  const rules = await readRules(api);
  if (rules.length === 0) return [];
  const { groups } = await api.json<JsonObject>({ what: "get the groups of the API", path: "/apis" });
  const found: FollowableKind[] = [];
  for (const { name, preferredVersion } of arrayOf(groups).map(objectOf)) {
    const [group, version] = [textOf(name) ?? "", textOf(objectOf(preferredVersion)["version"]) ?? ""];
    const own = rules.filter(({ apiGroups }) => isNamedIn(apiGroups, group));
    if (found.length >= MAX_KINDS || own.length === 0 || !isForeign(group)) continue;
    await pause(clock, PAUSE_MS);
    const isAllowed = (plural: string): boolean => own.some(({ resources }) => isNamedIn(resources, plural));
    const served = await servedResources(api, `${group}/${version}`);
    const named = served.filter(({ kind, plural }) => plural === guessResource(kind) && isAllowed(plural));
    found.push(...named.map(({ kind, plural }) => ({ group, version, plural, kind })));
  }
  return found.slice(0, MAX_KINDS);
}

/** Rules for groups that are not Kubernetes' own, as far as they allow to list all objects. */
async function readRules(api: WritersApi): Promise<Rule[]> {
  const resource = { ...KINDS.SelfSubjectAccessReview, plural: "selfsubjectrulesreviews" };
  const review = await api.json<JsonObject>({
    ...callOf("create", resource),
    // Of a namespace, and of the whole cluster: what only the namespace allows is refused later.
    body: { apiVersion: apiVersionOf(resource), kind: "SelfSubjectRulesReview", spec: { namespace: "default" } },
  });
  const rules = arrayOf(objectOf(review["status"])["resourceRules"]).map(objectOf);
  return rules
    .filter(({ verbs, resourceNames }) => isNamedIn(arrayOf(verbs), "list") && arrayOf(resourceNames).length === 0)
    .map(({ apiGroups, resources }) => ({ apiGroups: arrayOf(apiGroups), resources: arrayOf(resources) }))
    .filter(({ apiGroups }) => apiGroups.some(group => group === "*" || isForeign(group)));
}
