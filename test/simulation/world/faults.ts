import type { ApiServers, Fault, Outcome } from "../server/api-servers";
import type { Dice } from "../time";

// Faults of the network and of the API servers. They meet the operator's requests alone: the programs have faults of their own.

/** Statuses of servers in trouble, and of proxies before them. */
const STATUSES: readonly number[] = [429, 500, 502, 503, 504, 409];

/** What a fault may do to a request, besides a status. */
const BREAKS: readonly Outcome[] = [
  { reset: "before" },
  { reset: "after" },
  { silence: "before" },
  { silence: "after" },
  { truncate: 0.5 },
  { staleMs: 30_000 },
];

/** Begins and ends faults. */
export class Faults {
  readonly #servers: ApiServers;
  readonly #dice: Dice;

  constructor({ servers, dice }: { readonly servers: ApiServers; readonly dice: Dice }) {
    this.#servers = servers;
    this.#dice = dice;
  }

  /** A share of all requests fails, each in a way of its own. */
  errors(share: number): () => void {
    return this.#begin(() => {
      if (!this.#dice.chance(share)) return undefined;
      if (this.#dice.chance(0.5)) return this.#dice.pick(BREAKS);
      const status = this.#dice.pick(STATUSES);
      return {
        status,
        ...(this.#dice.chance(0.5) && status >= 429 ? { retryAfterSeconds: 1 + this.#dice.int(20) } : {}),
      };
    });
  }

  /** Nothing is answered any more. */
  silence(): () => void {
    return this.#begin(() => ({ silence: "before" }));
  }

  /** Every answer comes late, by up to so much. */
  slow(mostMs: number): () => void {
    return this.#begin(() => ({ answerDelayMs: this.#dice.between(0, mostMs) }));
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

  /** Lists of a server show the state of so long ago. */
  lag(index: number, ms: number): () => void {
    return this.#begin(({ server, ask }) => (server === index && ask.verb === "list" ? { staleMs: ms } : undefined));
  }

  /** All watches end at once. */
  breakWatches(): void {
    for (let at = 0; at < this.#servers.count; at++) this.#servers.endWatches(at);
  }

  /** Watches that are opened fall silent after a while. */
  silentWatches(): () => void {
    return this.#begin(({ ask }) =>
      ask.verb === "watch" ? { silentAfterMs: this.#dice.between(0, 30_000) } : undefined,
    );
  }

  /** A webhook refuses every eviction in a namespace. */
  refuseEvictions(namespace: string): () => void {
    return this.#begin(({ ask }) =>
      ask.subresource === "eviction" && ask.namespace === namespace
        ? { status: 403, message: 'admission webhook "policy.example" denied the request: not now' }
        : undefined,
    );
  }

  #begin(fault: Fault): () => void {
    this.#servers.faults.add(fault);
    return () => void this.#servers.faults.delete(fault);
  }
}
