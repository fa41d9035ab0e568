import type { Flow } from "./flow";

/** Counters of one API server since its start, in the text that `/metrics` has. */
export class Counters {
  readonly startSeconds: number;
  readonly #dispatched = new Map<string, number>();
  readonly #rejected = new Map<string, number>();
  readonly #attempts = new Map<string, number>();
  readonly #decisions = new Map<string, number>();
  readonly #requests = new Map<string, number>();
  #stale = 0;

  constructor(startSeconds: number) {
    this.startSeconds = startSeconds;
  }

  dispatched(flow: Flow, count = 1): void {
    if (count > 0) add(this.#dispatched, labelsOf(flow), count);
  }

  rejected(flow: Flow, count = 1): void {
    if (count > 0) add(this.#rejected, `${labelsOf(flow)},reason="queue-full"`, count);
  }

  /** Tokens that were accepted or refused. */
  attempted(isAccepted: boolean, count = 1): void {
    add(this.#attempts, `result="${isAccepted ? "success" : "error"}"`, count);
  }

  /** Requests that were allowed or not. */
  decided(isAllowed: boolean, count = 1): void {
    if (count > 0) add(this.#decisions, `result="${isAllowed ? "allowed" : "no-opinion"}"`, count);
  }

  requested(verb: string, resource: string, code: number, count = 1): void {
    add(this.#requests, `code="${code}",resource="${resource}",verb="${verb.toUpperCase()}"`, count);
  }

  stale(): void {
    this.#stale++;
  }

  get text(): string {
    return [
      ...lines("apiserver_flowcontrol_dispatched_requests_total", this.#dispatched),
      ...lines("apiserver_flowcontrol_rejected_requests_total", this.#rejected),
      ...lines("apiserver_request_total", this.#requests),
      ...lines("authentication_attempts", this.#attempts),
      ...lines("authorization_attempts_total", this.#decisions),
      "# TYPE process_start_time_seconds gauge",
      `process_start_time_seconds ${goNumber(this.startSeconds)}`,
      "# TYPE serviceaccount_stale_tokens_total counter",
      `serviceaccount_stale_tokens_total ${this.#stale}`,
      "",
    ].join("\n");
  }
}

function labelsOf({ schema, level }: Flow): string {
  return `flow_schema="${schema}",priority_level="${level}"`;
}

function add(counts: Map<string, number>, labels: string, count: number): void {
  counts.set(labels, (counts.get(labels) ?? 0) + count);
}

function lines(name: string, counts: ReadonlyMap<string, number>): string[] {
  return [`# TYPE ${name} counter`, ...[...counts].map(([labels, count]) => `${name}{${labels}} ${count}`)];
}

/** As Go prints seconds since 1970: `1.76e+09`. */
function goNumber(value: number): string {
  const [mantissa = "", exponent = "0"] = value.toExponential().split("e+");
  return `${mantissa}e+${exponent.padStart(2, "0")}`;
}
