import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "../../src/core/time";
import type { RoundsLog, LogReader } from "../../src/core/readers";
import { UNKNOWN_REFUSALS } from "../../src/core/testing/immediate-rounds";
import { findByClass as find } from "../../src/logs/detector";
import { LogWatch } from "../../src/logs/reading/log-watch";
import { Rounds } from "../../src/logs/reading/rounds";
import { container, pod } from "../../src/remedies/token-restart/testing/fake-log";

const LOGS = 10_000;
const READS = 3;
/** Of each read. */
const LINES = 24;
const RULE = { occasions: 3, windowMs: 900_000, minDurationMs: 60_000 };

/** Time passes only by hand, and no timer fires. */
let nowMs = Date.parse("2025-01-01T00:00:00Z");
const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs, after: () => () => undefined };

/** Each read has lines that were logged since the one before. */
const reader: LogReader = {
  read: (request, use) => {
    const line = (i: number): string =>
      `${new Date(nowMs - (LINES - i) * 1_000).toISOString()} I1120 13:47:14.474533 1 controller.go:12] "Reconciled" object="team/${request.pod}"\n`;
    const bytes = Buffer.from(Array.from({ length: LINES }, (_, i) => line(i)).join(""));
    return use({ bytes, truncated: false });
  },
};

/** Prints the memory of one watched container, with buffers outside of the heap, beside that of its pod. */
export async function benchLogMemory(print: (line: string) => void): Promise<void> {
  const items = Array.from({ length: LOGS }, (_, i) => ({
    pod: pod({ name: `web-5d-${i}`, uid: `uid-${i}` }),
    container: container(),
    suspicious: false,
  }));
  const search = { windowMs: RULE.windowMs, find, rule: RULE };
  const before = usedBytes();
  const watch = new LogWatch("team/web");
  const metrics = { logReadInterval: () => undefined, logRounds: () => undefined };
  const ports = { clock, metrics, refusals: UNKNOWN_REFUSALS };
  const rounds = new Rounds({ ...ports, requestPass: () => undefined, isLeader: () => true });
  let logs: readonly RoundsLog[] = [];
  const kept = {
    keep: (owner: object, key: string, wanted: readonly RoundsLog[]) => rounds.keep(owner, key, (logs = wanted)),
    drop: (owner: object) => rounds.drop(owner),
  };
  // The first answer is that the logs are being read.
  await watch.want({ clock, logs: reader, rounds: kept }, items, search).catch(() => undefined);
  for (let i = 0; i < READS; i++, nowMs += 30_000) for (const log of logs) await log.read();
  const used = usedBytes() - before;
  watch.stop();
  print(`${LOGS} healthy containers, read ${READS} times: ${Math.round(used / LOGS)} bytes each, beside their pods`);
}

function usedBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let i = 0; i < 3; i++) collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
