import type { ApiServers, Fault, Outcome, Seen } from "../server/api-servers";
import { isWrite } from "../server/journal";
import type { Dice } from "../time";

// Faults of the network and of the API servers. They meet the operator's requests alone: the programs have faults of their own.

const isAny = (): boolean => true;
const changes = ({ ask }: Seen): boolean => isWrite(ask);
const lists = ({ ask }: Seen): boolean => ask.verb === "list" || ask.verb === "watch";

/** Every other server says when to come back. */
const soon = (dice: Dice): Outcome => (dice.chance(0.5) ? { retryAfterSeconds: 1 + dice.int(20) } : {});

/** What may become of one request: the name of the fault, which requests it meets, and what it does. */
const WRONGS: readonly [kind: string, meets: (seen: Seen) => boolean, outcome: (dice: Dice) => Outcome][] = [
  ["401", isAny, () => ({ status: 401, message: "Unauthorized" })],
  ["403", isAny, () => ({ status: 403, message: "forbidden: the authorizer cannot be reached" })],
  ["404", isAny, () => ({ status: 404, message: "the server could not find the requested resource" })],
  ["409", changes, () => ({ status: 409, message: "the object has been modified" })],
  ["410", lists, () => ({ status: 410, message: "too old resource version" })],
  ["429", isAny, dice => ({ status: 429, ...soon(dice) })],
  ["429 until a date", isAny, dice => ({ status: 429, retryAfterSeconds: 1 + dice.int(20), isRetryDate: true })],
  ["500", isAny, () => ({ status: 500 })],
  ["502", isAny, () => ({ status: 502 })],
  ["503", isAny, dice => ({ status: 503, ...soon(dice) })],
  ["504", isAny, () => ({ status: 504 })],
  ["reset, not served", isAny, () => ({ reset: "before" })],
  ["reset, served", isAny, () => ({ reset: "after" })],
  ["no answer, not served", isAny, () => ({ silence: "before" })],
  ["no answer, served", isAny, () => ({ silence: "after" })],
  ["truncated answer", isAny, dice => ({ truncate: dice.between(0, 0.99) })],
  // A get is answered by a quorum.
  ["stale list", lists, dice => ({ staleMs: dice.between(1_000, 60_000) })],
];

/** The names of all faults that can hit a request. */
export const FAULT_KINDS: readonly string[] = [
  ...WRONGS.map(([kind]) => kind),
  ...["slow answer", "lagging server", "silent watch", "lost event", "repeated event"],
  ...[
    "refused eviction",
    "refused flow change",
    "refused binding change",
    "refused object change",
    "network gone",
    "killed in a write",
  ],
];

/** Begins and ends faults, and counts how often each really hit a request. */
export class Faults {
  readonly hits = new Map<string, number>();
  readonly #servers: ApiServers;
  readonly #dice: Dice;

  constructor({ servers, dice }: { readonly servers: ApiServers; readonly dice: Dice }) {
    this.#servers = servers;
    this.#dice = dice;
  }

  /** A share of all requests, or of some, fails, each in another way, or in one of these. */
  errors(share: number, kinds?: readonly string[], isMet: (seen: Seen) => boolean = isAny): () => void {
    const wrongs = WRONGS.filter(([kind]) => kinds?.includes(kind) ?? true);
    return this.#begin(seen => {
      if (!isMet(seen) || !this.#dice.chance(share)) return undefined;
      const [kind, , outcome] = this.#dice.pick(wrongs.filter(([, meets]) => meets(seen)));
      return this.#hit(kind, outcome(this.#dice));
    });
  }

  /** Every answer comes late, by up to so much: also later than that to the next request. */
  slow(mostMs: number): () => void {
    return this.#begin(() => this.#hit("slow answer", { answerDelayMs: this.#dice.between(0, mostMs) }));
  }

  /** A server stops; the last one stays. */
  down(index: number): (() => void) | undefined {
    const isLast = Array.from({ length: this.#servers.count }, (_, at) => at).every(
      at => at === index || this.#servers.isDown(at),
    );
    if (isLast || index >= this.#servers.count || this.#servers.isDown(index)) return undefined;
    this.#servers.stop(index);
    return () => this.#servers.start(index);
  }

  /** Lists of a server, and watches that are opened there, show the state of so long ago. */
  lag(index: number, ms: number): () => void {
    return this.#begin(seen =>
      seen.server === index && lists(seen) ? this.#hit("lagging server", { staleMs: ms }) : undefined,
    );
  }

  /** All watches end at once. */
  breakWatches(): void {
    for (let at = 0; at < this.#servers.count; at++) this.#servers.endWatches(at);
  }

  /** Watches that are opened fall silent after a while. */
  silentWatches(): () => void {
    return this.#begin(({ ask }) =>
      ask.verb === "watch" ? this.#hit("silent watch", { silentAfterMs: this.#dice.between(0, 30_000) }) : undefined,
    );
  }

  /** Watches that are opened lose or repeat a share of their events. */
  events(what: "drop" | "repeat", share: number): () => void {
    const kind = what === "drop" ? "lost event" : "repeated event";
    let isOver = false;
    const end = this.#begin(({ ask }) =>
      ask.verb === "watch"
        ? { onEvent: () => (!isOver && this.#dice.chance(share) ? this.#hit(kind, what) : undefined) }
        : undefined,
    );
    this.breakWatches();
    return () => {
      isOver = true;
      end();
    };
  }

  /** A webhook refuses some changes. */
  refuse(what: string, isRefused: (ask: Seen["ask"]) => boolean, status = 403): () => void {
    const message = 'admission webhook "policy.example" denied the request: not now';
    return this.#begin(({ ask }) => (isRefused(ask) ? this.#hit(`refused ${what}`, { status, message }) : undefined));
  }

  /** A process loses its network: nothing of it arrives any more, or nothing about one resource. */
  cutOff(from: string, resource?: string): () => void {
    if (resource === undefined) this.#servers.silenceWatches(from);
    return this.#begin(seen =>
      seen.from === from && (resource ?? seen.ask.resource) === seen.ask.resource
        ? this.#hit("network gone", { silence: "before" })
        : undefined,
    );
  }

  /** Calls back at the next write of a process: it is served, and the process never gets the answer. */
  atNextWrite(from: string, kill: () => void): () => void {
    const end = this.#begin(seen => {
      if (seen.from !== from || !changes(seen) || seen.ask.resource === "leases") return undefined;
      end();
      kill();
      return this.#hit("killed in a write", { silence: "after" });
    });
    return end;
  }

  #begin(fault: Fault): () => void {
    this.#servers.faults.add(fault);
    return () => void this.#servers.faults.delete(fault);
  }

  #hit<T>(kind: string, outcome: T): T {
    this.hits.set(kind, (this.hits.get(kind) ?? 0) + 1);
    return outcome;
  }
}
