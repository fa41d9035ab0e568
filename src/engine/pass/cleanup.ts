import { Reason } from "../../api/conditions";
import type { ControllerResilience } from "../../api/controller-resilience";
import { FINALIZER } from "../../api/names";
import { ForbiddenError, publicMessage } from "../../core/errors";
import type { Execution } from "../../core/intent";
import type { ObjectStore } from "../../core/ports";
import type { Readers } from "../../core/readers";
import type { Decision, Remedy } from "../../core/remedy";
import { STORE_DEADLINE_MS, withDeadline } from "../../core/deadline";
import type { ExecutionScope, Executor } from "../write/executor";
import { retryAfter } from "../../core/retry";
import { OBSERVE_DEADLINE_MS } from "./judge";
import type { Wish } from "../loop/pass-result";

/** Objects whose absent blocks are known to have left nothing behind; the oldest are looked at again beyond that. */
const MAX_REMEMBERED = 10_000;

/** After a deletion was asked for. */
const LOOK_AGAIN_MS = 1_000;

/** What cleaning up works with. */
export interface CleanupPorts {
  readonly store: ObjectStore;
  readonly readers: Readers;
  readonly remedies: readonly Remedy[];
  readonly executor: Executor;
}

/** What came of one look for what is left. */
export interface CleanupResult {
  readonly executions: readonly Execution[];
  /** Nothing is left, as far as could be seen: every remedy was asked, and none wants anything more. */
  readonly isDone: boolean;
  /** When to look again. */
  readonly wishes: readonly Wish[];
  /** What could not be read, as a sentence. */
  readonly problem?: string;
}

/** A remedy's turn, as far as cleaning up has to know it. */
export interface Turn {
  readonly remedy?: Remedy;
  readonly decision: Decision;
}

/**
 * Takes away what was made outside of an object's namespace, where no owner reference reaches. The finalizer is put on the object before
 * the first such write, and taken off when nothing is left, so that neither a crash nor a deleted namespace leaves anything behind.
 */
export class Cleanup {
  readonly #ports: CleanupPorts;
  /** By uid the generation at which nothing was left of absent blocks. */
  readonly #clean = new Map<string, number>();

  constructor(ports: CleanupPorts) {
    this.#ports = ports;
  }

  /**
   * The object with the finalizer on it, if one of these turns has made something that has to be taken away with it, or is about to: also
   * where somebody has taken it off. Without the right to put it there, those turns write nothing.
   *
   * @throws whatever the store throws, but for the missing right
   */
  async hold<T extends Turn>(object: ControllerResilience, turns: readonly T[]): Promise<[ControllerResilience, T[]]> {
    const isWriting = object.spec.mode === "Enforce" && !object.spec.suspend;
    if (!isWriting || hasFinalizer(object) || !turns.some(isToBeHeld)) return [object, [...turns]];
    try {
      return [await this.#setFinalizer(object, true), [...turns]];
    } catch (error) {
      if (!(error instanceof ForbiddenError)) throw error;
      return [object, turns.map(turn => (isToBeHeld(turn) ? { ...turn, decision: withoutRight(turn, error) } : turn))];
    }
  }

  /**
   * Takes away what remedies whose block has gone have left behind, in Observe mode as well: whoever removes a block wants its effects to
   * end, and nothing is changed but what the operator made. A suspended object waits.
   */
  async sweep(object: ControllerResilience, scope: ExecutionScope): Promise<CleanupResult> {
    const { uid, generation } = object.metadata;
    if (!hasFinalizer(object) || object.spec.suspend) return { executions: [], isDone: false, wishes: [] };
    if (this.#clean.get(uid) === generation) return { executions: [], isDone: true, wishes: [] };
    const absent = this.#ports.remedies.filter(({ key }) => object.spec[key] === undefined);
    const result = await this.#cleanUp(absent, object, { ...scope, isCleanup: true });
    if (result.isDone) this.#remember(uid, generation);
    return result;
  }

  /** The object goes: takes away everything that was made for it. */
  finish(object: ControllerResilience, scope: ExecutionScope): Promise<CleanupResult> {
    return this.#cleanUp(this.#ports.remedies, object, { ...scope, isCleanup: true });
  }

  /** Takes the finalizer off, if none of the turns holds it and nothing is left of other remedies. @throws whatever the store throws */
  async release(object: ControllerResilience, turns: readonly Turn[], swept: CleanupResult): Promise<void> {
    const holds = ({ remedy, decision }: Turn): boolean =>
      // What is not known may well be there.
      remedy?.cleanUp !== undefined && (decision.needsCleanup === true || decision.status === "Unknown");
    if (!hasFinalizer(object) || !swept.isDone || turns.some(holds)) return;
    await this.#setFinalizer(object, false);
  }

  /** Takes the finalizer off an object that goes. @throws whatever the store throws */
  async letGo(object: ControllerResilience): Promise<void> {
    await this.#setFinalizer(object, false);
    this.#clean.delete(object.metadata.uid);
  }

  async #cleanUp(
    remedies: readonly Remedy[],
    object: ControllerResilience,
    scope: ExecutionScope,
  ): Promise<CleanupResult> {
    const executions: Execution[] = [];
    const wishes: Wish[] = [];
    let problem: string | undefined;
    for (const remedy of remedies) {
      try {
        executions.push(...(await this.#cleanUpOne(remedy, object, scope)));
      } catch (error) {
        problem = `What ${remedy.name} has left behind could not be looked for: ${publicMessage(error)}.`;
        scope.log.warn({ remedy: remedy.name, error: publicMessage(error) }, "looking for what is left failed");
        wishes.push({ decision: {}, retry: retryAfter(error) ?? { kind: "backoff" } });
      }
    }
    // What was done is looked at again at once; what was not, with the next pass.
    const isChanged = executions.some(({ outcome }) => outcome.result === "Executed");
    if (isChanged) wishes.push({ decision: { recheckAfterMs: LOOK_AGAIN_MS } });
    const isDone = executions.length === 0 && problem === undefined;
    return { executions, isDone, wishes, ...(problem === undefined ? {} : { problem }) };
  }

  async #cleanUpOne(remedy: Remedy, object: ControllerResilience, scope: ExecutionScope): Promise<Execution[]> {
    const { readers, executor } = this.#ports;
    const what = `looking for what ${remedy.name} has left behind`;
    const intents = await withDeadline(readers.clock, OBSERVE_DEADLINE_MS, what, async () =>
      remedy.cleanUp === undefined ? [] : remedy.cleanUp(object, readers),
    );
    return executor.executeAll(remedy, intents, scope);
  }

  async #setFinalizer(object: ControllerResilience, present: boolean): Promise<ControllerResilience> {
    const { store, readers } = this.#ports;
    const metadata = await withDeadline(readers.clock, STORE_DEADLINE_MS, "writing the finalizer", () =>
      store.setFinalizer(object, present),
    );
    return { ...object, metadata };
  }

  #remember(uid: string, generation: number): void {
    this.#clean.set(uid, generation);
    const [oldest] = this.#clean.keys();
    if (this.#clean.size > MAX_REMEMBERED && oldest !== undefined) this.#clean.delete(oldest);
  }
}

/** Whether this operator's finalizer is on the object. */
export function hasFinalizer({ metadata }: ControllerResilience): boolean {
  return metadata.finalizers?.includes(FINALIZER) === true;
}

function isToBeHeld({ decision }: Turn): boolean {
  return decision.needsCleanup === true;
}

function withoutRight({ decision }: Turn, error: ForbiddenError): Decision {
  const message = `Nothing is made, since nobody could take it away with this object: ${error.message}.`;
  const { parts } = decision;
  return {
    status: "Unknown",
    reason: Reason.Forbidden,
    message,
    intents: [],
    needsCleanup: true,
    stalled: { reason: Reason.Forbidden, message },
    ...(parts === undefined ? {} : { parts }),
  };
}
