import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { eventually } from "../../cluster/admin";
import { operatorNodeOptions } from "../../controllers/operator-image";
import type { OperatorProcess } from "../../operator/process";

const COLLECT = pathToFileURL(join(__dirname, "collect.mjs")).href;

/** With this environment, memory can be measured, and has the limit of the operator's container. */
export const MEASURABLE: Readonly<Record<string, string>> = {
  NODE_OPTIONS: [...operatorNodeOptions(), `--import ${COLLECT}`].join(" "),
};

/** Bytes of used memory after garbage collection. */
export interface Memory {
  readonly rss: number;
  readonly heap: number;
}

/** Limit of the growth, as a multiple of the memory after the first fault. */
const MOST_TIMES = 1.5;

/** Smallest difference that counts as a rise, as a share of the memory after the first fault. */
const RISE = 0.01;

/** Fewer measurements would rise by chance too often: four do so in one of 24 runs. */
const ENOUGH_TO_RISE = 8;

/** Failures of these measurements, one after each fault, as sentences. Pure. */
export function growth(measured: readonly Memory[]): string[] {
  return (["rss", "heap"] as const).flatMap(what => {
    const bytes = measured.map(memory => memory[what]);
    const [first = 0, last = 0] = [bytes[0], bytes.at(-1)];
    const isRising =
      bytes.length >= ENOUGH_TO_RISE && bytes.every((now, i) => i === 0 || now > (bytes[i - 1] ?? 0) + RISE * first);
    const told = `${what} went from ${megabytes(first)} to ${megabytes(last)} MB`;
    if (last > MOST_TIMES * first) return [`${told}, more than ${MOST_TIMES} times as much`];
    return isRising ? [`${told}, and rose with each fault`] : [];
  });
}

/** Formats measurements. */
export function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}

/** The memory of the process right after garbage collection, which otherwise happens at random times. */
export async function memoryOf(operator: OperatorProcess): Promise<Memory> {
  const collections = (): number => operator.log.filter(({ msg }) => msg === "garbage collected").length;
  const before = collections();
  operator.signal("SIGUSR2");
  if ((await eventually(collections, now => now > before)) === before)
    throw new Error("the operator did not run garbage collection");
  const { text } = await operator.probe("/metrics");
  const valueOf = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? NaN);
  return { rss: valueOf("process_resident_memory_bytes"), heap: valueOf("nodejs_heap_size_used_bytes") };
}
