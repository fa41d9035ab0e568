import { MANAGER } from "../../../api/names";
import { CORE_EVENTS } from "../../../cluster/http/resources";
import { ALLOW_KIND } from "../../../cluster/measure/kind-readings";
import { ApiLogReader } from "../../../cluster/read/log-reader";
import { podView } from "../../../cluster/read/pod-view";
import { clusterReaders, type ReadersContext } from "../../../cluster/read/readers";
import { Rights } from "../../../cluster/read/rights";
import { SANDBOX_REASONS, sandboxEventView, bindingView } from "../../../cluster/read/views";
import { ForbiddenError, GoneError } from "../../../core/errors";
import { KINDS } from "../../../core/kinds";
import type { Log } from "../../../core/ports";
import { guessResource, type KindQuestion, type KindReading, UNREAD_KIND } from "../../../core/progress";
import { type LogRounds, type Readers, type RoundsLog } from "../../../core/readers";
import type { Remedy } from "../../../core/remedy";
import { serviceAccountUser } from "../../../core/text";
import type { Clock } from "../../../core/time";
import { createRemedies } from "../../../remedies/registry";
import type { OperatorState, PartialReader } from "../reader";
import type { Session } from "../session";

/** What plans are made with. None of it can write. */
export interface PlanTools {
  readonly readers: Readers;
  readonly remedies: readonly Remedy[];
  readonly log: Log;
  readonly operatorNamespace: string;
  /** Absent: the Lease could not be read. */
  readonly operator?: OperatorState;
  /** Notes what was not read, or is not known. */
  readonly reader: PartialReader;
}

const SILENT: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => SILENT,
};

/** Where the operator is or will be. */
export interface OperatorPlace {
  readonly namespace: string;
  readonly isInstalled: boolean;
  readonly state?: OperatorState;
}

/** Makes the operator's own readers for one command: they read through the session's client, which refuses writes. */
export function createTools(session: Session, operator: OperatorPlace, reader: PartialReader): PlanTools {
  const { api, ending } = session;
  // Readers that go on in the background do nothing more once the session has ended.
  const after: Clock["after"] = (delayMs, callback) =>
    session.clock.after(delayMs, () => {
      if (!ending.aborted) callback();
    });
  const clock = { ...session.clock, after };
  const rights = operatorRights(session, operator, reader);
  const live = clusterReaders({
    clock,
    api,
    informers: onceListed(session),
    logs: new ApiLogReader({ api, clock, metrics: { count: () => undefined } }),
    rounds: oneRound(),
    ownNamespace: operator.namespace,
    ownUser: () => Promise.resolve(serviceAccountUser(operator.namespace, MANAGER)),
    rights,
  });
  return {
    readers: {
      ...live,
      objects: namespace => live.objects(namespace).catch(noneIfGone),
      kind: question => readKind(live, question),
    },
    ...{ remedies: createRemedies(), log: SILENT, reader, operatorNamespace: operator.namespace },
    ...(operator.state === undefined ? {} : { operator: operator.state }),
  };
}

/** Without the operator's definitions there are no objects. */
function noneIfGone(error: unknown): readonly never[] {
  if (error instanceof GoneError) return [];
  throw error;
}

/** What the operator would read of a kind: it is read with the user's rights, and an administrator grants the operator's for each kind. */
async function readKind(readers: Pick<Readers, "may" | "kind">, question: KindQuestion): Promise<KindReading> {
  const [, apiGroup = ""] = question.apiVersion.split("/").reverse();
  const resource = guessResource(question.kind);
  const reading = await readers.kind(question);
  // Such as that it does not exist.
  if (reading.unknown !== undefined || (await readers.may({ apiGroup, resource, verb: "list" }))) return reading;
  return { ...UNREAD_KIND, unknown: { forbidden: true, message: `list ${resource}: not allowed${ALLOW_KIND}` } };
}

/** Asks what the operator's ServiceAccount may do. If the user may not ask, the user's own rights stand for the operator's. */
function operatorRights(
  { api, clock }: Session,
  { namespace, isInstalled }: OperatorPlace,
  reader: PartialReader,
): Pick<Rights, "may"> {
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
  const rights = new Rights(api, clock, { user: serviceAccountUser(namespace, MANAGER), groups });
  const own = new Rights(api, clock);
  return {
    async may(right) {
      // The chart grants what remedies need, but `bind`, which an administrator grants for each role.
      if (!isInstalled) return right.verb !== "bind";
      try {
        return await rights.may(right);
      } catch (error) {
        if (!(error instanceof ForbiddenError)) throw error;
        reader.note("rights of the operator: you may not review them (403); your own stand for them");
        return own.may(right);
      }
    },
  };
}

/** Lists once what the operator watches: a plan is made at one moment. */
function onceListed(session: Session): Pick<ReadersContext["informers"], "pods" | "bindings" | "sandboxEvents"> {
  const lists = new Map<string, Promise<unknown>>();
  const list = <T>(request: Parameters<Session["list"]>[0], view: (raw: object) => T | null): Promise<T[]> => {
    const key = JSON.stringify(request);
    const read = async (): Promise<T[]> => (await session.list(request, view)).filter(item => item !== null);
    const known = (lists.get(key) as Promise<T[]> | undefined) ?? read();
    lists.set(key, known);
    return known;
  };
  return {
    pods: namespace => list({ resource: KINDS.Pod, place: { namespace } }, podView),
    bindings: (kind, namespace) =>
      list({ resource: KINDS[kind], place: kind === "RoleBinding" ? { namespace } : {} }, raw =>
        bindingView(kind, raw),
      ),
    async sandboxEvents() {
      const reasons = SANDBOX_REASONS.map(reason => `reason=${reason}`);
      const all = reasons.map(fieldSelector => list({ resource: CORE_EVENTS, fieldSelector }, sandboxEventView));
      return (await Promise.all(all)).flat();
    },
  };
}

/** Reads each log once, as soon as it is wanted. */
function oneRound(): LogRounds {
  const read = new WeakSet<RoundsLog>();
  return {
    async keep(_owner, _key, logs) {
      const wanted = logs.filter(log => !read.has(log));
      for (const log of wanted) read.add(log);
      await Promise.all(wanted.map(log => log.read()));
    },
    drop: () => undefined,
  };
}
