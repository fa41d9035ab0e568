import { appendFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Time between two lines of a healthy log, in milliseconds. */
const HEALTHY_EVERY_MS = 5_000;
/** The healthy log has the last lines, so that its size stays the same: those of more than the longest interval between two reads. */
const KEPT_LINES = 120;
/** Time between two 401s, in milliseconds: each is a separate occasion. */
const DEAD_EVERY_MS = 2_500;

/** The logs of simulated pods, as files for kwok: all healthy pods share one, and each pod that may die has a link to the one that it shows. */
export class LogFiles {
  readonly #timers = new Set<NodeJS.Timeout>();
  /** When each line of the healthy log was logged. */
  readonly #healthyAtMs = Array.from(
    { length: KEPT_LINES },
    (_, i) => Date.now() - (KEPT_LINES - i) * HEALTHY_EVERY_MS,
  );
  #deaths = 0;

  constructor(
    private readonly folder: string,
    private readonly victims: readonly string[] = [],
  ) {}

  /** Begins to write. Returns the path of a configuration for kwok. */
  start(): string {
    this.#writeHealthy();
    this.#every(HEALTHY_EVERY_MS, () => this.#writeHealthy());
    for (const pod of this.victims) this.#show(pod, this.#healthy);
    const config = join(this.folder, "logs.yaml");
    const rules = [
      ...this.victims.map(pod => clusterLogs(pod, this.#linkOf(pod), { matchNames: [pod] })),
      clusterLogs("healthy", this.#healthy),
    ];
    writeFileSync(config, rules.map(rule => JSON.stringify(rule)).join("\n---\n"));
    return config;
  }

  /** From now on these pods log 401s. Returns when the first was logged. */
  die(pods: readonly string[]): number {
    const file = join(this.folder, `dead-${++this.#deaths}.log`);
    const write = (): void => appendFileSync(file, line(Date.now(), UNAUTHORIZED));
    write();
    const startMs = Date.now();
    this.#every(DEAD_EVERY_MS, write);
    for (const pod of pods) this.#show(pod, file);
    return startMs;
  }

  /** From now on these pods are healthy: they were replaced. */
  heal(pods: readonly string[]): void {
    for (const pod of pods) this.#show(pod, this.#healthy);
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  get #healthy(): string {
    return join(this.folder, "healthy.log");
  }

  #linkOf(pod: string): string {
    return join(this.folder, `${pod}.log`);
  }

  #every(ms: number, work: () => void): void {
    this.#timers.add(setInterval(work, ms));
  }

  #writeHealthy(): void {
    this.#healthyAtMs.shift();
    this.#healthyAtMs.push(Date.now());
    const text = this.#healthyAtMs.map(atMs => line(atMs, HEALTHY)).join("");
    this.#replace(this.#healthy, path => writeFileSync(path, text));
  }

  #show(pod: string, file: string): void {
    this.#replace(this.#linkOf(pod), path => symlinkSync(file, path));
  }

  /** A reader finds the old file or the new one. */
  #replace(path: string, make: (path: string) => void): void {
    rmSync(`${path}.new`, { force: true });
    make(`${path}.new`);
    renameSync(`${path}.new`, path);
  }
}

const HEALTHY = `I1120 13:47:14.474533       1 controller.go:12] "Synced"`;
const UNAUTHORIZED = `E1120 13:47:14.474533       1 reflector.go:227] "Failed to watch" err="failed to list *v1.Pod: Unauthorized"`;

/** A line in the format of containerd. */
function line(atMs: number, text: string): string {
  return `${new Date(atMs).toISOString()} stderr F ${text}\n`;
}

function clusterLogs(name: string, logsFile: string, selector?: object): object {
  const spec = { ...(selector === undefined ? {} : { selector }), logs: [{ logsFile }] };
  return { kind: "ClusterLogs", apiVersion: "kwok.x-k8s.io/v1alpha1", metadata: { name }, spec };
}
