import type { ControllerResilience } from "../../../api/controller-resilience";
import { MANAGER } from "../../../api/names";
import { ApiLogReader } from "../../../cluster/read/log-reader";
import { ClusterReaders } from "../../../cluster/read/readers";
import { Rights } from "../../../cluster/read/rights";
import type { Cancel, Clock } from "../../../core/time";
import { ForbiddenError, GoneError } from "../../../core/errors";
import { serviceAccountUser } from "../../../core/text";
import type { Log } from "../../../core/ports";
import type { Readers } from "../../../core/readers";
import type { Remedy } from "../../../core/remedy";
import { createRemedies } from "../../../remedies/registry";
import type { OperatorState } from "../reader";
import type { Session } from "../session";
import { LiveLists, OneRound } from "./lists";

/** What plans are made with. None of it can write. */
export interface PlanTools {
  readonly readers: Readers;
  readonly remedies: readonly Remedy[];
  readonly log: Log;
  /** Absent: the Lease could not be read. */
  readonly operator?: OperatorState;
  readonly may: Readers["may"];
  /** Notes what was not read, or is not known. */
  readonly note: (sentence: string) => void;
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
export function createTools(session: Session, operator: OperatorPlace, note: (sentence: string) => void): PlanTools {
  const clock = endingWith(session);
  let logs = 0;
  const rights = operatorRights(session, operator, note);
  const readers = new PlanReaders({
    clock,
    api: session.api,
    informers: new LiveLists(session),
    logs: new ApiLogReader({ api: session.api, clock, metrics: NO_METRICS }),
    rounds: new OneRound(() => session.progress.step("read logs", ++logs)),
    ownUser: () => Promise.resolve(serviceAccountUser(operator.namespace, MANAGER)),
    rights,
  });
  return {
    readers,
    remedies: createRemedies(),
    log: SILENT,
    may: right => rights.may(right),
    note,
    ...(operator.state === undefined ? {} : { operator: operator.state }),
  };
}

const NO_METRICS = {
  watchEnded: () => undefined,
  relisted: () => undefined,
  watchAge: () => undefined,
  logRead: () => undefined,
  eventLost: () => undefined,
};

/** Without the operator's definitions there are no objects. */
class PlanReaders extends ClusterReaders {
  override async objects(namespace: string): Promise<readonly ControllerResilience[]> {
    try {
      return await super.objects(namespace);
    } catch (error) {
      if (error instanceof GoneError) return [];
      throw error;
    }
  }
}

/** Some readers go on reading in the background, which must not keep a command alive: none of its timers outlives the session. */
export function endingWith({ clock, ending }: Pick<Session, "clock" | "ending">): Clock {
  const cancels = new Set<Cancel>();
  // One listener: Node warns of more than ten.
  ending.addEventListener("abort", () => {
    for (const cancel of cancels) cancel();
  });
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    after(delayMs, callback) {
      if (ending.aborted) return () => undefined;
      const stop = clock.after(delayMs, () => {
        cancels.delete(cancel);
        callback();
      });
      const cancel = (): void => {
        cancels.delete(cancel);
        stop();
      };
      cancels.add(cancel);
      return cancel;
    },
  };
}

/** Asks what the operator's ServiceAccount may do. If the user may not ask, the user's own rights stand for the operator's. */
function operatorRights(
  { api, clock }: Session,
  { namespace, isInstalled }: OperatorPlace,
  note: (sentence: string) => void,
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
        note("rights of the operator: you may not review them (403); your own stand for them");
        return own.may(right);
      }
    },
  };
}
