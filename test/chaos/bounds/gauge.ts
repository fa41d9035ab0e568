import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { eventually } from "../../cluster/admin";
import { operatorNodeOptions } from "../../controllers/operator-image";
import type { Finding } from "../suite";
import type { OperatorProcess } from "../../operator/process";

/** What Node takes for its heap where a container may have 256 MiB. */
const HEAP_MIB = 128;

/** What the operator's container is to be given. */
export const LIMIT_MIB = 256;

/** Longest time that anything may hold up the event loop. */
export const TURN_MS = 50;

const PROBE = pathToFileURL(join(__dirname, "probe.mjs")).href;

/** Pepr lists all objects again that often, not every ten minutes: each stretch of work has such a list in it. In seconds. */
const RELIST_SECONDS = 15;

/** The environment in which the operator is measured: with the heap that it would have in its container, and with a probe inside. */
export const MEASURED: Readonly<Record<string, string>> = {
  NODE_OPTIONS: [...operatorNodeOptions(), `--max-old-space-size=${HEAP_MIB}`, `--import ${PROBE}`].join(" "),
  PEPR_RELIST_INTERVAL_SECONDS: String(RELIST_SECONDS),
};

/** What a stretch of work took of the operator. */
export interface Reading {
  /** Most memory that was resident. */
  readonly peakMiB: number;
  /** Longest time that a turn of the event loop took: without what it waited for a processor, and by the clock. */
  readonly longestOwnMs: number;
  readonly longestMs: number;
  /** How much of the first of these was collecting garbage, by the clock. */
  readonly garbageMs: number;
  /** The same by the operator's own metric. */
  readonly lagMs: number;
}

/** Begins a stretch. */
export async function begin(operator: OperatorProcess): Promise<void> {
  writeFileSync(`/proc/${operator.pid}/clear_refs`, "5");
  await read(operator);
}

/** What was seen since the beginning of the stretch, or since the last reading. */
export async function read(operator: OperatorProcess): Promise<Reading> {
  const before = turnsIn(operator).length;
  operator.signal("SIGUSR2");
  const turns = await eventually(
    () => turnsIn(operator),
    lines => lines.length > before,
  );
  const turn = turns.at(-1);
  if (turns.length === before || turn === undefined)
    throw new Error("the operator does not say how long its turns are");
  const { text } = await operator.probe("/metrics");
  return {
    peakMiB: peakOf(operator.pid),
    longestOwnMs: Number(turn["longestOwnMs"]),
    longestMs: Number(turn["longestMs"]),
    garbageMs: Number(turn["garbageMs"]),
    lagMs: 1000 * (valueOf(text, "nodejs_eventloop_lag_max_seconds") ?? NaN),
  };
}

/** A reading for people. */
export function describe({ peakMiB, longestOwnMs, longestMs, garbageMs, lagMs }: Reading): string {
  const turn = `longest turn ${longestOwnMs.toFixed(0)} ms (collecting garbage took ${garbageMs.toFixed(0)} ms by the clock; ${longestMs.toFixed(0)} ms with what it waited for a processor, ${lagMs.toFixed(0)} ms by its own metric)`;
  return `peak ${peakMiB.toFixed(0)} MiB, ${turn}`;
}

/** A finding, and what it took of the operator. */
export interface Measured {
  readonly finding: Finding;
  readonly reading: Reading;
}

/** With the bounds of memory and turn among what was promised. */
export function bounded({ finding, reading }: Measured): Finding {
  return {
    ...finding,
    promised: `${finding.promised}; bounds of memory and turn`,
    seen: `${finding.seen}; ${describe(reading)}`,
    failures: [...finding.failures, ...complaintsOf(reading)],
  };
}

/** What of a reading is beyond the bounds. */
function complaintsOf({ peakMiB, longestOwnMs }: Reading): string[] {
  return [
    ...(peakMiB > LIMIT_MIB ? [`${peakMiB.toFixed(0)} MiB were resident, of ${LIMIT_MIB}`] : []),
    ...(longestOwnMs > TURN_MS ? [`a turn took ${longestOwnMs.toFixed(0)} ms, of ${TURN_MS}`] : []),
  ];
}

/** The value of a metric; undefined where there is none. All its series together. */
export function valueOf(metrics: string, name: string): number | undefined {
  const found = [...metrics.matchAll(new RegExp(`^${name}(?:\\{.*\\})? ([0-9.e+-]+)$`, "gm"))];
  return found.length === 0 ? undefined : found.reduce((sum, [, value]) => sum + Number(value), 0);
}

function turnsIn({ log }: OperatorProcess) {
  return log.filter(({ msg }) => msg === "longest turn");
}

function peakOf(pid: number): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) / 1024;
}
