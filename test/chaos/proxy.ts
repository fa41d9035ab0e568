import { ApiProxy } from "./api-proxy";
import { type Call, type CallKind, describeCall } from "./calls";
import { bytesOf, codeOf, type Exchange } from "./exchange";

/** When the operator is killed: just before its write is forwarded, which then never happens, or after the API server's answer and before it arrives. */
export type Moment = "before" | "after";

/** The write at which the operator is killed, identified by its call and its number among equal calls: other writes in between may vary. */
export interface CrashPoint {
  readonly call: string;
  /** Counted from 1. */
  readonly nth: number;
  readonly moment: Moment;
}

/** A write as the proxy saw it. */
export interface Write extends Call {
  /** Status code of the API server's answer; undefined before the answer, and if the write was not forwarded. */
  code?: number;
}

/** The scope of the watched writes, and the point of the crash. */
export interface Watched {
  /** Writes in this namespace and cluster-scoped writes are counted; all others are strays. */
  readonly namespace: string;
  readonly point?: CrashPoint | undefined;
  /** Kills the operator; resolves when it has exited. */
  readonly kill: () => Promise<void>;
}

/** Intercepts calls and answers. A promise delays the call; a rejection breaks its connection. */
export interface Interceptor {
  /** Called before the API server receives the call. */
  readonly before?: (call: Call, url: string) => Promise<void>;
  /** Called after the API server's answer, before the operator receives it. */
  readonly after?: (call: Call, url: string) => Promise<void>;
}

const PASS_THROUGH: Required<Interceptor> = {
  before: () => Promise.resolve(),
  after: () => Promise.resolve(),
};

/** Records each write of the operator, and kills it at one of them. */
export class CrashProxy extends ApiProxy {
  /** Writes that count, in order of arrival. */
  readonly writes: Write[] = [];
  /** Writes to other objects. */
  readonly strays: Write[] = [];
  /** Number of requests that are no counted writes, such as those of Leases and Events. */
  readonly others = new Map<CallKind, number>();
  #interceptor = PASS_THROUGH;
  #watched: Watched | undefined;
  #onCrash: () => void = () => undefined;

  /** Intercepts every call that arrives from now on. */
  set interceptor(interceptor: Interceptor) {
    this.#interceptor = { ...PASS_THROUGH, ...interceptor };
  }

  /** Resets the counts. Resolves when the operator was killed at its point; without a point, never. */
  watch(watched: Watched): Promise<void> {
    this.writes.length = 0;
    this.strays.length = 0;
    this.others.clear();
    this.#watched = watched;
    return new Promise(resolve => (this.#onCrash = resolve));
  }

  protected async serve(exchange: Exchange): Promise<void> {
    const { call, url } = exchange;
    const write = this.#note(call);
    const moment = write === undefined ? undefined : this.#momentOf(write);
    if (moment === "before") return this.#crash(exchange);
    await this.#interceptor.before(call, url);
    const answer = await exchange.forward();
    if (moment === "after") await bytesOf(answer);
    if (write !== undefined) write.code = codeOf(answer);
    if (moment === "after") return this.#crash(exchange);
    await this.#interceptor.after(call, url);
    return exchange.relay(answer);
  }

  /** Records the write, if it counts. */
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

  /** Called once for each write, on arrival. */
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
