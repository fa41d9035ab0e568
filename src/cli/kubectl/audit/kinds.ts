import { arrayOf, type JsonObject, objectOf, textOf } from "../../../core/json";
import type { Kind } from "../../../core/kinds";
import { type KindObject, type KindQuestion, resourcesIn } from "../../../core/progress";
import { formatDuration } from "../../../core/time";
import { isOfStatus, kindObject, KindTrack, latestOf, writesOf } from "../../../evidence/progress/follow";
import { questionOf } from "../../../evidence/progress/due";
import { WELL_KNOWN } from "../../../evidence/progress/well-known";
import type { PartialReader } from "../reader";
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
  readonly question: KindQuestion;
}

type Reader = Pick<PartialReader, "list" | "tolerant">;
type Lister = <T>(kind: Kind, view: (raw: JsonObject) => T | null) => Promise<T[] | undefined>;

/** Looks for work that is due while nothing moves; once more, `betweenMs` later, only if there seems to be some. */
export async function readKinds(
  session: Session,
  reader: Reader,
  namespace?: string,
  betweenMs = LOOK_MS,
): Promise<Finding[]> {
  const nowMs = session.clock.now().getTime();
  const list: Lister = (kind, view) => reader.list(kind, view, { namespace });
  const looks = (await servedKinds(session, reader)).map(served => new Looks(served, list, nowMs));
  await Promise.all(looks.map(one => one.look(nowMs)));
  const suspects = looks.filter(one => one.stuck() !== undefined);
  if (suspects.length === 0) return [];
  await session.wait(`whether anything moves: ${suspects.map(({ kind }) => kind).join(", ")}`, betweenMs);
  await Promise.all(suspects.map(one => one.look(nowMs + betweenMs)));
  return suspects.flatMap(one => one.stuck() ?? []);
}

/** The version of each well-known group that the table has, or else the one that the cluster prefers. */
async function servedKinds(session: Session, reader: Reader): Promise<Served[]> {
  const get = (what: string): Promise<JsonObject | null | undefined> =>
    reader.tolerant(`get ${what}`, () => session.get({ what: `get ${what}`, path: `/${what}` }));
  const apis = await get("apis");
  const read = arrayOf(apis?.["groups"]).map(async raw => {
    const { name, versions, preferredVersion } = objectOf(raw);
    const rows = WELL_KNOWN.filter(({ apiVersion }) => apiVersion.split("/")[0] === name);
    const served = arrayOf(versions).map(one => textOf(objectOf(one)["groupVersion"]));
    const known = rows.find(({ apiVersion }) => served.includes(apiVersion))?.apiVersion;
    const chosen = known ?? textOf(objectOf(preferredVersion)["groupVersion"]);
    if (rows.length === 0 || chosen === undefined) return [];
    const document = await get(`apis/${chosen}`);
    return rows.flatMap(({ kind }) => servedIn(chosen, kind, document ?? null) ?? []);
  });
  return (await Promise.all(read)).flat();
}

function servedIn(apiVersion: string, kind: string, document: JsonObject | null): Served | undefined {
  const [group = "", version = ""] = apiVersion.split("/");
  const found = resourcesIn(document).find(one => one.kind === kind);
  return found && { kind, resource: { group, version, ...found }, question: questionOf({ apiVersion, kind }) };
}

/** The objects of one kind, followed as stallDetection does. What it sees over time, one look reads in the times of managedFields. */
class Looks {
  readonly #served: Served;
  readonly #list: Lister;
  readonly #nowMs: number;
  readonly #track = new KindTrack();
  /** When anything but the status of an object was last changed, by namespace and name; Infinity: unknown. */
  readonly #askedMs = new Map<string, number>();

  constructor(served: Served, list: Lister, nowMs: number) {
    [this.#served, this.#list, this.#nowMs] = [served, list, nowMs];
    this.#track.ask(served.question, nowMs);
  }

  get kind(): string {
    return this.#served.kind;
  }

  async look(atMs: number): Promise<void> {
    const listed = await this.#list(this.#served.resource, raw => {
      const object = kindObject(raw);
      if (object === undefined) return null;
      const askedMs = latestOf(writesOf(raw).filter(write => !isOfStatus(write)));
      this.#askedMs.set(keyOf(object), askedMs > -Infinity ? askedMs : Infinity);
      return { object, answers: this.#track.answersFor(object, raw) };
    });
    this.#track.note(listed ?? [], atMs);
  }

  /** Work is due for long, and no status has changed since it became due. A kind without any status shows nothing. */
  stuck(): Finding | undefined {
    const { kind, resource, question } = this.#served;
    const { due, movedMs, writtenMs } = this.#track.reading(question);
    if (movedMs > -Infinity || writtenMs === -Infinity) return undefined;
    const left = due
      .map(object => ({ ...object, askedMs: this.#askedMs.get(keyOf(object)) ?? Infinity }))
      .filter(({ askedMs }) => askedMs >= writtenMs && this.#nowMs - askedMs >= LONG_MS)
      .toSorted((a, b) => a.askedMs - b.askedMs);
    const [oldest] = left;
    if (oldest === undefined) return undefined;
    const { namespace, name, generation, observed, askedMs } = oldest;
    const versions = observed === undefined ? "" : ` (generation ${generation ?? "?"}, observed ${observed})`;
    const more = left.length === 1 ? "" : `, and so are ${left.length - 1} more`;
    const ago = (ms: number): string => formatDuration(this.#nowMs - ms);
    return {
      ...({ severity: "warning", check: "WorkDue", kind, namespace, name } as const),
      why: `it has been due for ${ago(askedMs)}${versions}${more}, and no ${kind} has moved for ${ago(writtenMs)}, nor while they were watched. Its controller may hang.`,
      wayOut: `See whether its controller runs and what it logs; if it hangs, restart it. stallDetection with \`progress: [{kind: ${kind}}]\` watches it. The object:`,
      command: `kubectl describe ${resource.plural}.${resource.group} ${name}${namespace === "" ? "" : ` -n ${namespace}`}`,
    };
  }
}

function keyOf({ namespace, name }: Pick<KindObject, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}
