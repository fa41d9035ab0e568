import type { ControllerResilience } from "../../api/controller-resilience";
import { BREAKER_ANNOTATION, KIND, MANAGER } from "../../api/names";
import { callOf, describeCall, type Place, type Resource } from "../../cluster/http/resources";
import { ownView } from "../../cluster/read/views";
import { ForbiddenError, GoneError, ResilienceError, UnauthorizedError } from "../../core/errors";
import { type JsonObject, objectOf, textOf, textsOf, timeOf } from "../../core/json";
import { type Kind, KINDS } from "../../core/kinds";
import type { Session } from "./session";
import { safeText } from "./terminal";

/** Reads with the rights that a user has, and notes what was refused or has failed. What concerns every read ends the command. */
export class PartialReader {
  /** Reads that were refused or have failed, each with its reason. */
  readonly unread: string[] = [];
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Reads one object; null if it does not exist, undefined if the read was refused. */
  get(resource: Resource, place: Place): Promise<JsonObject | null | undefined> {
    const call = callOf("get", resource, place);
    return this.tolerant(call.what, () => this.#session.get(call));
  }

  /**
   * Lists a kind, without what the view leaves out; undefined if that was refused.
   *
   * @param options.namespace of a namespaced kind; absent: all namespaces
   */
  async list<T>(
    resource: Kind,
    view: (raw: JsonObject) => T | null,
    { namespace, fieldSelector }: { namespace?: string | undefined; fieldSelector?: string | undefined } = {},
  ): Promise<T[] | undefined> {
    const place = namespace === undefined || resource.isClusterScoped === true ? {} : { namespace };
    const views = await this.tolerant(describeCall("list", resource, place), () =>
      this.#session.list({ resource, place, fieldSelector }, view),
    );
    return views?.filter(one => one !== null);
  }

  /** Lists the ControllerResiliences of a namespace, or of all; undefined if that was refused. */
  objects(namespace?: string): Promise<ControllerResilience[] | undefined> {
    return this.list(KINDS[KIND], raw => ownView(KIND, raw)?.object ?? null, { namespace });
  }

  /** Lists the operator's Events of a namespace, or of all, oldest first. */
  async events(namespace?: string): Promise<EventFacts[]> {
    const fieldSelector = `reportingController=${MANAGER}`;
    const events = await this.list(KINDS.Event, eventFacts, { namespace, fieldSelector });
    return (events ?? []).toSorted((a, b) => Date.parse(a.time) - Date.parse(b.time));
  }

  /** Reads the operator's Lease; undefined if that was refused. */
  async operator(namespace: string): Promise<OperatorState | undefined> {
    const lease = await this.get(KINDS.Lease, { namespace, name: MANAGER });
    return lease === undefined ? undefined : operatorState(lease, namespace, this.#session.clock.now().getTime());
  }

  /** Returns what was read; undefined if that was refused or has failed. */
  async tolerant<T>(what: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ResilienceError) || concernsAll(error)) throw error;
      this.note(`${what}: ${whyUnread(error)}`);
      return undefined;
    }
  }

  /** Notes once what was not read, or is not known. */
  note(sentence: string): void {
    if (!this.unread.includes(sentence)) this.unread.push(sentence);
  }
}

/** Without a cluster, or with credentials that it does not accept, nothing else can be read either. */
function concernsAll(error: ResilienceError): boolean {
  return error instanceof UnauthorizedError || error.cause !== undefined;
}

/** Returns why a read was refused or has failed, in a few words. */
export function whyUnread(error: ResilienceError): string {
  if (error instanceof ForbiddenError) return "no rights (403)";
  if (error instanceof GoneError) return "not served (404)";
  return safeText(error.message.replace(/^[^:]*: /, ""));
}

/** An Event of the operator. */
export interface EventFacts {
  /** RFC 3339: of its last occurrence. */
  readonly time: string;
  readonly reason: string;
  readonly note: string;
  readonly kind: string;
  readonly name: string;
  /** UIDs of what it regards and of what is related: one of them is the operator's object that it belongs to. */
  readonly uids: readonly string[];
}

const LONGEST_NOTE = 1_024;

/** Returns an Event of the operator; null for one of another controller. Others can imitate it, so its texts may be anything. */
export function eventFacts(raw: JsonObject): EventFacts | null {
  if (raw["reportingController"] !== MANAGER) return null;
  const regarding = objectOf(raw["regarding"]);
  const series = objectOf(raw["series"]);
  const time = textOf(series["lastObservedTime"]) ?? textOf(raw["eventTime"]);
  if (time === undefined) return null;
  return {
    time,
    reason: fieldOf(raw, "reason"),
    note: fieldOf(raw, "note"),
    kind: fieldOf(regarding, "kind"),
    name: fieldOf(regarding, "name"),
    uids: [regarding, objectOf(raw["related"])].flatMap(({ uid }) => textOf(uid) ?? []),
  };
}

function fieldOf(object: JsonObject, field: string): string {
  return safeText(textOf(object[field]) ?? "", LONGEST_NOTE);
}

/** Namespace of the operator in docs/install.md. */
export const OPERATOR_NAMESPACE = "controller-resilience-system";

/** The operator as its Lease shows it. */
export interface OperatorState {
  /** Namespace and name of the Lease. */
  readonly lease: string;
  /** RFC 3339; absent if no operator has led. */
  readonly renewTime?: string;
  /** An operator holds the Lease and renews it. */
  readonly leads: boolean;
  /** Why the restart breaker is tripped; absent if it is not. */
  readonly breaker?: string;
}

/** A Lease that was not renewed for longer is stale, as docs/paged.md says. */
const STALE_MS = 20_000;

/** Reads the state of the operator from its Lease; null is a Lease that does not exist. Pure. */
export function operatorState(lease: JsonObject | null, namespace: string, nowMs: number): OperatorState {
  const { spec, metadata } = lease ?? {};
  const { renewTime, holderIdentity } = objectOf(spec);
  const renewedMs = timeOf(renewTime);
  const breaker = textsOf(objectOf(metadata)["annotations"])[BREAKER_ANNOTATION];
  const isHeld = (textOf(holderIdentity) ?? "") !== "";
  return {
    lease: `${namespace}/${MANAGER}`,
    ...(renewedMs === undefined ? {} : { renewTime: new Date(renewedMs).toISOString() }),
    leads: isHeld && renewedMs !== undefined && nowMs - renewedMs <= STALE_MS,
    ...(breaker === undefined ? {} : { breaker: safeText(breaker) || "no reason given" }),
  };
}
