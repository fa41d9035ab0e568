import { ApiProxy } from "./api-proxy";
import { type Call, type CallKind, describeCall } from "./calls";
import { bytesOf, codeOf, type Exchange, type Reply } from "./exchange";

/** When the operator ends: just before its write is forwarded, which then never is, or when the API server has answered and no operator has received it. */
export type Moment = "before" | "after";

/** At which of its writes: told by what it is and how many such there were, since what is said in between may differ from run to run. */
export interface CrashPoint {
  readonly call: string;
  /** Counted from 1. */
  readonly nth: number;
  readonly moment: Moment;
}

/** A write as the proxy saw it. */
export interface Write extends Call {
  /** Of the API server's answer; undefined until it has come, and where it was never asked. */
  code?: number;
}

/** What of the operator is watched, and where it ends. */
export interface Watched {
  /** Writes there and cluster-scoped ones are counted; all others are strays. */
  readonly namespace: string;
  readonly point?: CrashPoint | undefined;
  /** Ends the operator; resolves when it has ended. */
  readonly kill: () => Promise<void>;
}

/** What befalls calls on their way, either way. Each may be kept waiting; what throws is cut off. */
export interface Meddler {
  /** Before the API server sees it. With a reply it never does. */
  readonly before?: (call: Call, url: string) => Promise<Reply | undefined>;
  /** When the API server has answered, and no operator has received it. */
  readonly after?: (call: Call, url: string, code: number) => Promise<void>;
}

const HANDS_OFF: Required<Meddler> = { before: () => Promise.resolve(undefined), after: () => Promise.resolve() };

/** Knows each write of the operator, and ends it at one of them. */
export class CrashProxy extends ApiProxy {
  /** Those that count, in the order in which they came. */
  readonly writes: Write[] = [];
  /** Of untouched objects. */
  readonly strays: Write[] = [];
  /** How many of what is no write came: Leases and Events among them. */
  readonly others = new Map<CallKind, number>();
  /** What is being answered. */
  readonly #open = new Set<Exchange>();
  #meddler = HANDS_OFF;
  #watched: Watched | undefined;
  #onCrash: () => void = () => undefined;

  /** In the way of every call that comes from now on. */
  set meddler(meddler: Meddler) {
    this.#meddler = { ...HANDS_OFF, ...meddler };
  }

  /** Breaks the connection of whatever is being answered, watches most of all; returns how many those were. */
  cut(which: (call: Call) => boolean): number {
    const found = [...this.#open].filter(({ call }) => which(call));
    for (const exchange of found) exchange.cut();
    return found.length;
  }

  /** Counts again from now on. Resolves when the operator has ended at its point; without one, never. */
  watch(watched: Watched): Promise<void> {
    this.writes.length = 0;
    this.strays.length = 0;
    this.others.clear();
    this.#watched = watched;
    return new Promise(resolve => (this.#onCrash = resolve));
  }

  protected async serve(exchange: Exchange): Promise<void> {
    this.#open.add(exchange);
    try {
      await this.#serve(exchange);
    } finally {
      this.#open.delete(exchange);
    }
  }

  async #serve(exchange: Exchange): Promise<void> {
    const { call, url } = exchange;
    const write = this.#note(call);
    const moment = write === undefined ? undefined : this.#momentOf(write);
    if (moment === "before") return this.#crash(exchange);
    const own = await this.#meddler.before(call, url);
    if (own !== undefined) {
      exchange.reply(own);
      return;
    }
    const answer = await exchange.forward();
    if (moment === "after") await bytesOf(answer);
    if (write !== undefined) write.code = codeOf(answer);
    if (moment === "after") return this.#crash(exchange);
    await this.#meddler.after(call, url, codeOf(answer));
    return exchange.relay(answer);
  }

  /** The write, if it counts. */
  #note(call: Call): Write | undefined {
    if (call.kind !== "write") {
      this.others.set(call.kind, (this.others.get(call.kind) ?? 0) + 1);
      return undefined;
    }
    const isOwn = call.namespace === undefined || call.namespace === this.#watched?.namespace;
    const write: Write = { ...call };
    (isOwn ? this.writes : this.strays).push(write);
    return isOwn ? write : undefined;
  }

  /** Asked once of each write, when it is the newest. */
  #momentOf(write: Write): Moment | undefined {
    const point = this.#watched?.point;
    if (point === undefined || describeCall(write) !== point.call) return undefined;
    return this.writes.filter(other => describeCall(other) === point.call).length === point.nth
      ? point.moment
      : undefined;
  }

  async #crash(exchange: Exchange): Promise<void> {
    await this.#watched?.kill();
    exchange.cut();
    this.#onCrash();
  }
}
