import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { eventually } from "../../cluster/admin";
import { operatorNodeOptions } from "../../controllers/operator-image";
import type { Finding } from "../suite";
import type { OperatorProcess } from "../../operator/process";

/** The heap limit that Node.js chooses in a container with 256 MiB. */
const HEAP_MIB = 128;

/** Memory limit of the operator's container. */
export const LIMIT_MIB = 256;

/** Longest time that anything may block the event loop. */
export const TURN_MS = 50;

const PROBE = pathToFileURL(join(__dirname, "probe.mjs")).href;

/** Pepr's relist interval in seconds: short instead of ten minutes, so that each measurement includes a relist. */
const RELIST_SECONDS = 15;

/** The environment in which the operator is measured: with the heap of its container, and with a probe inside. */
export const MEASURED: Readonly<Record<string, string>> = {
  NODE_OPTIONS: [...operatorNodeOptions(), `--max-old-space-size=${HEAP_MIB}`, `--import ${PROBE}`].join(" "),
  PEPR_RELIST_INTERVAL_SECONDS: String(RELIST_SECONDS),
};

/** Memory and event loop use of the operator during one measurement. */
export interface Reading {
  /** Peak resident memory. */
  readonly peakMiB: number;
  /** Longest turn of the event loop: without time spent waiting for a processor, and by the clock. */
  readonly longestOwnMs: number;
  readonly longestMs: number;
  /** Garbage collection within the longest of these turns, by the clock. */
  readonly garbageMs: number;
  /** The longest turn by the operator's own metric. */
  readonly lagMs: number;
}

/** Begins a measurement. */
export async function begin(operator: OperatorProcess): Promise<void> {
  writeFileSync(`/proc/${operator.pid}/clear_refs`, "5");
  await read(operator);
}

/** Returns the values since the beginning of the measurement, or since the last reading. */
export async function read(operator: OperatorProcess): Promise<Reading> {
  const before = turnsIn(operator).length;
  operator.signal("SIGUSR2");
  const turns = await eventually(
    () => turnsIn(operator),
    lines => lines.length > before,
  );
  const turn = turns.at(-1);
  if (turns.length === before || turn === undefined) throw new Error("the operator does not log its longest turn");
  const { text } = await operator.probe("/metrics");
  return {
    peakMiB: peakOf(operator.pid),
    longestOwnMs: Number(turn["longestOwnMs"]),
    longestMs: Number(turn["longestMs"]),
    garbageMs: Number(turn["garbageMs"]),
    lagMs: 1000 * (valueOf(text, "nodejs_eventloop_lag_max_seconds") ?? NaN),
  };
}

/** Formats a reading. */
export function describe({ peakMiB, longestOwnMs, longestMs, garbageMs, lagMs }: Reading): string {
  const turn = `longest turn ${longestOwnMs.toFixed(0)} ms (garbage collection ${garbageMs.toFixed(0)} ms; ${longestMs.toFixed(0)} ms including processor wait, ${lagMs.toFixed(0)} ms by its own metric)`;
  return `peak ${peakMiB.toFixed(0)} MiB, ${turn}`;
}

/** A finding, and the resources that the operator used for it. */
export interface Measured {
  readonly finding: Finding;
  readonly reading: Reading;
}

/** Adds the bounds of memory and turn to a finding. */
export function bounded({ finding, reading }: Measured): Finding {
  return {
    ...finding,
    promised: `${finding.promised}; bounds of memory and turn`,
    seen: `${finding.seen}; ${describe(reading)}`,
    failures: [...finding.failures, ...complaintsOf(reading)],
  };
}

/** One sentence for each exceeded bound. */
function complaintsOf({ peakMiB, longestOwnMs }: Reading): string[] {
  return [
    ...(peakMiB > LIMIT_MIB ? [`peak memory ${peakMiB.toFixed(0)} MiB, limit ${LIMIT_MIB} MiB`] : []),
    ...(longestOwnMs > TURN_MS ? [`a turn took ${longestOwnMs.toFixed(0)} ms, limit ${TURN_MS} ms`] : []),
  ];
}

/** The value of a metric, summed over all its series; undefined if there is none. */
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
