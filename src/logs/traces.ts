import { NO_TRACE, withGap, withLine, withUnauthorized, type UnauthorizedTrace } from "./persistence";

/** Topics of one log that are followed, far more than a working program has. */
const MAX_TOPICS = 32;

/** The 401s of one container's log, and its other records of interest by topic. Immutable. */
export class Traces {
  static readonly NONE = new Traces(NO_TRACE, new Map());

  private constructor(
    readonly unauthorized: UnauthorizedTrace,
    readonly topics: ReadonlyMap<string, UnauthorizedTrace>,
  ) {}

  /** Adds a line of any kind. */
  withLine(atMs: number, life: number): Traces {
    return this.#each(trace => withLine(trace, atMs, life));
  }

  /** Adds a part that was not read. */
  withGap(atMs: number): Traces {
    return this.#each(trace => withGap(trace, atMs));
  }

  /** Adds a 401, or a record of another topic. */
  withRecord(atMs: number, life: number, topic?: string): Traces {
    if (topic === undefined) return new Traces(withUnauthorized(this.unauthorized, atMs, life), this.topics);
    const before = this.topics.get(topic);
    if (before === undefined && this.topics.size >= MAX_TOPICS) return this;
    const trace = withUnauthorized(before ?? NO_TRACE, atMs, life);
    return new Traces(this.unauthorized, new Map(this.topics).set(topic, trace));
  }

  #each(change: (trace: UnauthorizedTrace) => UnauthorizedTrace): Traces {
    const topics = Array.from(this.topics, ([topic, trace]) => [topic, change(trace)] as const);
    return new Traces(change(this.unauthorized), this.topics.size === 0 ? this.topics : new Map(topics));
  }
}
