import { ApiProxy } from "./api-proxy";
import type { Call } from "./calls";
import { codeOf, type Exchange } from "./exchange";

/** A write as the proxy saw it. */
export interface Write extends Call {
  /** Status code of the API server's answer; undefined before the answer, and if the write was not forwarded. */
  code?: number;
}

/** Intercepts calls and answers. A promise delays the call; a rejection breaks its connection. */
export interface Interceptor {
  /** Called before the API server receives the call. */
  readonly before?: (call: Call) => Promise<void>;
  /** Called after the API server's answer, before the operator receives it. */
  readonly after?: (call: Call) => Promise<void>;
}

const PASS_THROUGH: Required<Interceptor> = {
  before: () => Promise.resolve(),
  after: () => Promise.resolve(),
};

/** Records each write of the operator. */
export class RecordingProxy extends ApiProxy {
  /** Writes that count, in order of arrival. */
  readonly writes: Write[] = [];
  /** Writes to other objects. */
  readonly strays: Write[] = [];
  #interceptor = PASS_THROUGH;
  #namespace: string | undefined;

  /** Intercepts every call that arrives from now on. */
  set interceptor(interceptor: Interceptor) {
    this.#interceptor = { ...PASS_THROUGH, ...interceptor };
  }

  /** Resets the counts. From now on writes in this namespace and cluster-scoped writes count; all others are strays. */
  watch(namespace: string): void {
    this.writes.length = 0;
    this.strays.length = 0;
    this.#namespace = namespace;
  }

  protected async serve(exchange: Exchange): Promise<void> {
    const { call } = exchange;
    const write = this.#note(call);
    await this.#interceptor.before(call);
    const answer = await exchange.forward();
    if (write !== undefined) write.code = codeOf(answer);
    await this.#interceptor.after(call);
    return exchange.relay(answer);
  }

  /** Records the write, if it counts. */
  #note(call: Call): Write | undefined {
    if (!call.isWrite) return undefined;
    const isOwn = call.namespace === undefined || call.namespace === this.#namespace;
    const write: Write = { ...call };
    (isOwn ? this.writes : this.strays).push(write);
    return isOwn ? write : undefined;
  }
}
