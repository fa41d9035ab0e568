import { setMaxListeners } from "node:events";
import { askedMs, backoffMs, type Clock, pause, type Random } from "../../core/time";
import { TerminalError, TransientError } from "../../core/errors";
import { FairLimiter } from "./fair-limiter";

/** What an {@link Outbox} works with. */
export interface OutboxPorts<T> {
  readonly clock: Clock;
  readonly random: Random;
  /** Longest queue of a part, and of all parts together, beside an item that is being sent. */
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
}

interface Waiting<T> {
  readonly item: T;
  readonly sinceMs: number;
}

const DROPPED = new TransientError("the queue is full, or the operator is stopping");

/**
 * Sends items in the background, one at a time, and one of each part, such as a namespace, in turn. The items of a part keep their order.
 * A part that backs off after a failure takes no turn meanwhile, so neither a loud nor a failing part delays another one.
 */
export class Outbox<T> {
  readonly #ports: OutboxPorts<T>;
  readonly #turns = new FairLimiter(1);
  /** The items of each part, the first of which is being sent, and the work on them, which ends with the last one. */
  readonly #parts = new Map<string, { readonly queue: Waiting<T>[]; readonly done: Promise<void> }>();
  /** Items of all parts. */
  #size = 0;
  readonly #stopped = new AbortController();

  constructor(ports: OutboxPorts<T>) {
    this.#ports = ports;
    // Each part that waits is a listener: Node.js warns of a leak above ten.
    setMaxListeners(0, this.#stopped.signal);
  }

  add(item: T, name = ""): void {
    const { clock, maxOfPart, maxInAll, onLost } = this.#ports;
    const known = this.#parts.get(name);
    const queue = known?.queue ?? [];
    if (this.#isStopped() || queue.length > maxOfPart || this.#size > maxInAll) {
      onLost(item, "dropped", DROPPED);
      return;
    }
    queue.push({ item, sinceMs: clock.monotonicMs() });
    this.#size++;
    if (known === undefined) this.#parts.set(name, { queue, done: this.#work(name, queue) });
  }

  /** Waits at most `timeoutMs` for the queues to empty; the rest is dropped. */
  async stop(timeoutMs: number): Promise<void> {
    const cancel = this.#ports.clock.after(timeoutMs, () => this.#stopped.abort());
    while (this.#parts.size > 0) await Promise.all([...this.#parts.values()].map(({ done }) => done));
    cancel();
    this.#stopped.abort();
  }

  async #work(name: string, queue: Waiting<T>[]): Promise<void> {
    for (let [first] = queue; first !== undefined; [first] = queue) {
      await this.#deliver(first, name);
      queue.shift();
      this.#size--;
    }
    this.#parts.delete(name);
  }

  async #deliver({ item, sinceMs }: Waiting<T>, name: string): Promise<void> {
    const { clock, random, giveUpAfterMs, onLost, onRetry } = this.#ports;
    for (let failures = 0; !this.#isStopped(); failures++) {
      try {
        await this.#send(item, name);
        return;
      } catch (error) {
        if (this.#isStopped()) break;
        if (error instanceof TerminalError || clock.monotonicMs() - sinceMs >= giveUpAfterMs) {
          onLost(item, "failed", error);
          return;
        }
        onRetry?.(item, error);
        await pause(clock, backoffMs(failures, random, askedMs(error)), this.#stopped.signal);
      }
    }
    onLost(item, "dropped", DROPPED);
  }

  /** Sends an item once it is the turn of its part. */
  async #send(item: T, name: string): Promise<void> {
    const { signal } = this.#stopped;
    const release = await this.#turns.acquire([{ key: name, limit: 1 }], signal);
    await this.#ports.send(item, signal).finally(release);
  }

  /** A method, since TypeScript treats the signal's state as constant across awaits. */
  #isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }
}
