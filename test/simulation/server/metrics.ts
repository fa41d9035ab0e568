import type { Flow } from "./flow";

const METRICS = {
  dispatched: "apiserver_flowcontrol_dispatched_requests_total",
  rejected: "apiserver_flowcontrol_rejected_requests_total",
  requested: "apiserver_request_total",
  attempted: "authentication_attempts",
  decided: "authorization_attempts_total",
} as const;

/** Counters of one API server since its start, in the text that `/metrics` has. */
export class Counters {
  /** By metric and labels. */
  readonly #counts = Object.values(METRICS).map(name => [name, new Map<string, number>()] as const);
  readonly #byName = new Map(this.#counts);
  #stale = 0;

  constructor(readonly startSeconds: number) {}

  dispatched({ schema, level }: Flow, count = 1): void {
    if (count > 0) this.#add("dispatched", `flow_schema="${schema}",priority_level="${level}"`, count);
  }

  rejected({ schema, level }: Flow, count = 1): void {
    const labels = `flow_schema="${schema}",priority_level="${level}",reason="queue-full"`;
    if (count > 0) this.#add("rejected", labels, count);
  }

  /** Tokens that were accepted or refused. */
  attempted(isAccepted: boolean, count = 1): void {
    this.#add("attempted", `result="${isAccepted ? "success" : "error"}"`, count);
  }

  /** Requests that were allowed or not. */
  decided(isAllowed: boolean, count = 1): void {
    if (count > 0) this.#add("decided", `result="${isAllowed ? "allowed" : "no-opinion"}"`, count);
  }

  requested(verb: string, resource: string, code: number, count = 1): void {
    this.#add("requested", `code="${code}",resource="${resource}",verb="${verb.toUpperCase()}"`, count);
  }

  stale(): void {
    this.#stale++;
  }

  get text(): string {
    return [
      ...this.#counts.flatMap(([name, counts]) => [
        `# TYPE ${name} counter`,
        ...[...counts].map(([labels, count]) => `${name}{${labels}} ${count}`),
      ]),
      "# TYPE process_start_time_seconds gauge",
      `process_start_time_seconds ${goNumber(this.startSeconds)}`,
      "# TYPE serviceaccount_stale_tokens_total counter",
      `serviceaccount_stale_tokens_total ${this.#stale}`,
      "",
    ].join("\n");
  }

  #add(metric: keyof typeof METRICS, labels: string, count: number): void {
    const counts = this.#byName.get(METRICS[metric])!;
    counts.set(labels, (counts.get(labels) ?? 0) + count);
  }
}

/** As Go prints seconds since 1970: `1.76e+09`. */
function goNumber(value: number): string {
  const [mantissa = "", exponent = "0"] = value.toExponential().split("e+");
  return `${mantissa}e+${exponent.padStart(2, "0")}`;
}
