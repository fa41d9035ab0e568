import type { LogCall } from "../../cluster/kubelet";

/** Time between two log lines of a pod, in milliseconds. */
const TICK_MS = 4_000;

const REJECTED = `E1120 13:47:14.474533       1 reflector.go:227] "Failed to watch" err="failed to list *v1.Pod: Unauthorized"`;
const ACCEPTED = `I1120 13:47:14.474533       1 controller.go:12] "Synced"`;

/** Logs of pods whose requests are answered 401 for some time. Every pod also has lines from before and after it. */
export class Outage {
  readonly #bornMs = Date.now();
  #fromMs = Infinity;
  #toMs = Infinity;

  /** All requests are answered 401 from now on. */
  begin(): void {
    this.#fromMs = Date.now();
  }

  /** All requests succeed from now on. */
  end(): void {
    this.#toMs = Date.now();
  }

  /** The log since the time that the call asks for. */
  readonly voice = ({ query }: Pick<LogCall, "query">): string[] => {
    const sinceMs = Math.max(this.#bornMs, Date.parse(query.get("sinceTime") ?? "") || 0);
    const lines: string[] = [];
    for (let ms = Math.ceil(sinceMs / TICK_MS) * TICK_MS; ms <= Date.now(); ms += TICK_MS) {
      const isRejected = ms >= this.#fromMs && ms < this.#toMs;
      lines.push(`${new Date(ms).toISOString()} ${isRejected ? REJECTED : ACCEPTED}\n`);
    }
    return lines;
  };
}
