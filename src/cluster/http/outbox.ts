import { askedMs, backoffMs, type Clock, type Random } from "../../core/time";
import { TerminalError, TransientError } from "../../core/errors";
import { pause } from "./retry";

/** What an {@link Outbox} works with. */
export interface OutboxPorts<T> {
  readonly clock: Clock;
  readonly random: Random;
  /** Longest queue of a part, and of all parts together. */
  readonly maxOfPart: number;
  readonly maxInAll: number;
  /** An item that failed is given up once it is so old, in milliseconds. */
  readonly giveUpAfterMs: number;
  /** Sends an item. @throws TerminalError if it can never be sent; every other error is followed by another attempt */
  readonly send: (item: T, signal: AbortSignal) => Promise<void>;
  /** Takes an item that is not sent, and why: it failed, or it was dropped, since the queue was full or the outbox was stopped. */
  readonly onLost: (item: T, result: "failed" | "dropped", error: unknown) => void;
  /** Called after each attempt that is repeated. */
  readonly onRetry?: (item: T, error: unknown) => void;
  /** Called when nothing waits any more. */
  readonly onIdle?: () => void;
}

interface Waiting<T> {
  readonly item: T;
  readonly sinceMs: number;
}

const DROPPED = new TransientError("the queue is full, or the operator is stopping");

/** Sends items in the background, one at a time, and one of each part, such as a namespace, in turn: a loud part delays no other. */
export class Outbox<T> {
  readonly #ports: OutboxPorts<T>;
  /** What waits, by part, in the order of their turns. */
  readonly #parts = new Map<string, Waiting<T>[]>();
  #size = 0;
  readonly #stopped = new AbortController();
  #working: Promise<void> | undefined;

  constructor(ports: OutboxPorts<T>) {
    this.#ports = ports;
  }

  add(item: T, part = ""): void {
    const { clock, maxOfPart, maxInAll, onLost } = this.#ports;
    const queue = this.#parts.get(part) ?? [];
    if (this.#isStopped() || queue.length >= maxOfPart || this.#size >= maxInAll) {
      onLost(item, "dropped", DROPPED);
      return;
    }
    queue.push({ item, sinceMs: clock.monotonicMs() });
    this.#size++;
    this.#parts.set(part, queue);
    this.#working ??= this.#work();
  }

  /** Waits at most `timeoutMs` for the queue to empty; the rest is dropped. */
  async stop(timeoutMs: number): Promise<void> {
    const cancel = this.#ports.clock.after(timeoutMs, () => this.#stopped.abort());
    await this.#working;
    cancel();
    this.#stopped.abort();
  }

  /** The first item of the part whose turn it is, which is the last in turn afterwards. */
  #next(): Waiting<T> | undefined {
    const [first] = this.#parts;
    if (first === undefined) return undefined;
    const [part, queue] = first;
    const next = queue.shift();
    this.#parts.delete(part);
    if (queue.length > 0) this.#parts.set(part, queue);
    this.#size--;
    return next;
  }

  async #work(): Promise<void> {
    for (let next = this.#next(); next !== undefined; next = this.#next()) await this.#deliver(next);
    this.#working = undefined;
    this.#ports.onIdle?.();
  }

  async #deliver({ item, sinceMs }: Waiting<T>): Promise<void> {
    const { clock, random, giveUpAfterMs, send, onLost, onRetry } = this.#ports;
    const { signal } = this.#stopped;
    for (let failures = 0; !this.#isStopped(); failures++) {
      try {
        await send(item, signal);
        return;
      } catch (error) {
        if (error instanceof TerminalError || clock.monotonicMs() - sinceMs >= giveUpAfterMs) {
          onLost(item, "failed", error);
          return;
        }
        if (this.#isStopped()) break;
        onRetry?.(item, error);
        await pause(clock, backoffMs(failures, random, askedMs(error)), signal);
      }
    }
    onLost(item, "dropped", DROPPED);
  }

  /** A method, since TypeScript treats the signal's state as constant across awaits. */
  #isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }
}
