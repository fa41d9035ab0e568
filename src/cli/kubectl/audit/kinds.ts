import { arrayOf, type JsonObject, numberOf, objectOf, textOf, timeOf } from "../../../core/json";
import type { Kind } from "../../../core/kinds";
import { type KindObject, type KindQuestion, resourceIn } from "../../../core/progress";
import { formatDuration } from "../../../core/time";
import { isOfStatus, kindObject } from "../../../evidence/progress/follow";
import { questionOf } from "../../../evidence/progress/due";
import { WELL_KNOWN } from "../../../evidence/progress/well-known";
import type { Session } from "../session";
import type { Finding } from "./finding";

// Kinds whose controllers have work and do nothing. One look has the times of managedFields; a second one, a minute later, shows whether anything moves.

/** Time between the two looks. */
const LOOK_MS = 60_000;

/** As long as `for` of an entry of stallDetection.progress: younger work may be in progress. */
const LONG_MS = 900_000;

/** A well-known kind that the cluster serves. */
interface Served {
  readonly kind: string;
  readonly resource: Kind;
  readonly hasStatus: boolean;
  readonly question: KindQuestion;
}

/** Lists a kind; undefined if that was refused. */
type Lister = <T>(kind: Kind, view: (raw: JsonObject) => T | null) => Promise<T[] | undefined>;

/** One object at one look. */
interface Seen {
  readonly object: KindObject;
  readonly isDue: boolean;
  readonly observed: number | undefined;
  /** Last change of anything but the status; Infinity: unknown. */
  readonly askedMs: number;
}

/** Looks for work that is due while nothing moves; once more, `betweenMs` later, only if there seems to be some. */
export async function readKinds(session: Session, list: Lister, betweenMs = LOOK_MS): Promise<Finding[]> {
  const served = await servedKinds(session);
  const first = await Promise.all(served.map(async kind => ({ kind, seen: await lookAt(kind, list) })));
  const nowMs = session.clock.now().getTime();
  const suspects = first.filter(({ kind, seen }) => stuckIn(kind, seen, nowMs) !== undefined);
  if (suspects.length === 0) return [];
  await session.wait(`whether anything moves: ${suspects.map(({ kind }) => kind.kind).join(", ")}`, betweenMs);
  const found = suspects.map(async ({ kind, seen }) => {
    const again = await lookAt(kind, list);
    return hasMoved(seen, again) ? undefined : stuckIn(kind, again, nowMs);
  });
  return (await Promise.all(found)).filter(one => one !== undefined);
}

/** The version of each well-known group that the table has, or else the one that the cluster prefers. */
async function servedKinds(session: Session): Promise<Served[]> {
  const apis = await session.get({ what: "get apis", path: "/apis" });
  const read = arrayOf(apis?.["groups"]).map(async raw => {
    const { name, versions, preferredVersion } = objectOf(raw);
    const rows = WELL_KNOWN.filter(({ apiVersion }) => apiVersion.split("/")[0] === name);
    const served = arrayOf(versions).map(one => textOf(objectOf(one)["groupVersion"]));
    const known = rows.find(({ apiVersion }) => served.includes(apiVersion))?.apiVersion;
    const chosen = known ?? textOf(objectOf(preferredVersion)["groupVersion"]);
    if (rows.length === 0 || chosen === undefined) return [];
    const document = await session.get({ what: `get apis/${chosen}`, path: `/apis/${chosen}` });
    return rows.flatMap(({ kind }) => servedIn(chosen, kind, document) ?? []);
  });
  return (await Promise.all(read)).flat();
}

function servedIn(apiVersion: string, kind: string, document: JsonObject | null): Served | undefined {
  const [group = "", version = ""] = apiVersion.split("/");
  const found = resourceIn(document, kind);
  if (found === undefined) return undefined;
  const { hasStatus, ...names } = found;
  return { kind, resource: { group, version, ...names }, hasStatus, question: questionOf({ apiVersion, kind }) };
}

async function lookAt({ resource, hasStatus, question }: Served, list: Lister): Promise<readonly Seen[]> {
  return (await list(resource, raw => seenOf(raw, hasStatus, question))) ?? [];
}

function seenOf(raw: JsonObject, hasStatus: boolean, question: KindQuestion): Seen | null {
  const object = kindObject(raw, hasStatus);
  if (object === undefined) return null;
  const writes = arrayOf(objectOf(raw["metadata"])["managedFields"]).map(objectOf);
  const asked = writes.filter(write => !isOfStatus(write, hasStatus)).flatMap(({ time }) => timeOf(time) ?? []);
  const observed = numberOf(objectOf(raw["status"])["observedGeneration"]);
  return {
    ...{ object, observed, isDue: !object.isPaused && question.workOf(raw) === "due" },
    askedMs: asked.length === 0 ? Infinity : Math.max(...asked),
  };
}

/** Work is due for long, and no status has changed since it became due. A kind without any status shows nothing. */
function stuckIn({ kind, resource }: Served, seen: readonly Seen[], nowMs: number): Finding | undefined {
  const movedMs = Math.max(...seen.map(({ object }) => object.writtenMs));
  const left = seen
    .filter(({ isDue, askedMs }) => isDue && askedMs >= movedMs && nowMs - askedMs >= LONG_MS)
    .toSorted((a, b) => a.askedMs - b.askedMs);
  const [oldest] = left;
  if (oldest === undefined || movedMs === -Infinity) return undefined;
  const { object, observed, askedMs } = oldest;
  const { namespace, name, generation } = object;
  const versions = observed === undefined ? "" : ` (generation ${generation ?? "?"}, observed ${observed})`;
  const more = left.length === 1 ? "" : `, and so are ${left.length - 1} more`;
  const ago = (ms: number): string => formatDuration(nowMs - ms);
  return {
    ...({ severity: "warning", check: "WorkDue", kind, namespace, name } as const),
    why: `it has been due for ${ago(askedMs)}${versions}${more}, and no ${kind} has moved for ${ago(movedMs)}, nor while they were watched. Its controller may hang.`,
    wayOut: `See whether its controller runs and what it logs; if it hangs, restart it. stallDetection with \`progress: [{kind: ${kind}}]\` watches it. The object:`,
    command: `kubectl describe ${resource.plural}.${resource.group} ${name}${namespace === "" ? "" : ` -n ${namespace}`}`,
  };
}

/** Reports whether a controller wrote to an object between two looks, or one is gone. */
function hasMoved(before: readonly Seen[], after: readonly Seen[]): boolean {
  const [earlier, later] = [before, after].map(seen => new Map(seen.map(({ object }) => [object.uid, object.written])));
  return (
    before.some(({ object }) => later?.get(object.uid) !== object.written) ||
    after.some(({ object }) => object.isWritten && earlier?.has(object.uid) === false)
  );
}
