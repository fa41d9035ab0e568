import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { eventually } from "../../cluster/admin";
import { operatorNodeOptions } from "../../controllers/operator-image";
import type { OperatorProcess } from "../../operator/process";

const COLLECT = pathToFileURL(join(__dirname, "collect.mjs")).href;

/** With this environment an operator's memory can be measured, and is what it would be in its container. */
export const MEASURABLE: Readonly<Record<string, string>> = {
  NODE_OPTIONS: [...operatorNodeOptions(), `--import ${COLLECT}`].join(" "),
};

/** Bytes of memory that are in use: what is garbage was collected. */
export interface Memory {
  readonly rss: number;
  readonly heap: number;
}

/** Memory may be this many times of what it was after the first fault. */
const MOST_TIMES = 1.5;

/** A rise, as a share of what it was after the first: less is noise. */
const RISE = 0.01;

/** Of fewer, chance alone would have all in rising order too often: of four in one run of 24. */
const ENOUGH_TO_RISE = 8;

/** What is wrong with these measurements, as sentences: one after each fault. Pure. */
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

/** For people. */
export function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}

/** What the process says of its memory, when it has collected its garbage: when it does so by itself is chance. */
export async function memoryOf(operator: OperatorProcess): Promise<Memory> {
  const collections = (): number => operator.log.filter(({ msg }) => msg === "garbage collected").length;
  const before = collections();
  operator.signal("SIGUSR2");
  if ((await eventually(collections, now => now > before)) === before)
    throw new Error("the operator collects no garbage");
  const { text } = await operator.probe("/metrics");
  const valueOf = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? NaN);
  return { rss: valueOf("process_resident_memory_bytes"), heap: valueOf("nodejs_heap_size_used_bytes") };
}
