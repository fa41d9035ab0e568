import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { classify, scanRecords } from "../../src/logs/classifier/index";

const LOG_BYTES = 256 * 1024 * 1024;
const GREP = "401|Unauthorized|provide credentials";
const ROUNDS = 5;

/** Numbers that look random and are the same in every run. */
function sequence(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const OBJECTS = ["pods", "nodes", "leases", "secrets", "deployments", "services", "configmaps"];
const WORDS = ["reconciled", "synced", "updated", "skipped", "queued", "released", "observed", "renewed lease for"];

type Next = (below: number) => number;

/** A line of every common log format; none of them about a 401. */
const LINES: readonly ((n: Next, time: string) => string)[] = [
  (n, t) =>
    `${t} I1120 13:4${n(10)}:1${n(10)}.${n(1e6)}       1 controller.go:${100 + n(300)}] "Reconciled" ${pick(n, OBJECTS)}="ns-${n(99)}/obj-${n(1e5)}" took="${n(900)}ms"`,
  (n, t) =>
    `${t} {"level":"info","ts":${1.7e9 + n(1e7)}.${n(1e6)},"logger":"controller.${pick(n, OBJECTS)}","msg":"${pick(n, WORDS)}","namespace":"ns-${n(99)}","name":"obj-${n(1e5)}","reconcileID":"${hex(n, 8)}-${hex(n, 4)}-${hex(n, 12)}"}`,
  (n, t) =>
    `${t} ts=${t} caller=sync.go:${n(900)} level=info component=${pick(n, OBJECTS)} msg="${pick(n, WORDS)} ${n(1e4)} objects" duration=${n(900)}ms`,
  (n, t) =>
    `${t} 10.${n(255)}.${n(255)}.${n(255)} - - [20/Nov/2025:13:4${n(10)}:1${n(10)} +0000] "GET /api/items/${n(1e6)} HTTP/1.1" 200 ${n(1e5)} "-" "Mozilla/5.0 (X11; Linux x86_64)" ${n(900)} 0.0${n(99)}`,
  (n, t) =>
    `${t} \x1b[2m2025-11-20T13:47:14.${n(1e6)}Z\x1b[0m \x1b[32m INFO\x1b[0m \x1b[2mproxy::http\x1b[0m: ${pick(n, WORDS)} conn=${n(1e6)} bytes=${n(1e7)}`,
  (n, t) =>
    `${t} java.lang.IllegalStateException: queue ${n(99)} is closed\n${t} \tat example.sync.Poller.tick(Poller.java:${n(900)})\n${t} \tat java.base/java.lang.Thread.run(Thread.java:${n(900)})`,
  (n, t) =>
    `${t} I1120 13:47:14.${n(1e6)}       1 leaderelection.go:${n(400)}] successfully renewed lease kube-system/controller-${n(9)}`,
];

function pick(n: Next, from: readonly string[]): string {
  return from[n(from.length)] ?? "";
}

function hex(n: Next, digits: number): string {
  return Array.from({ length: digits }, () => n(16).toString(16)).join("");
}

/** A log in the format of pods/log with timestamps, in which `GREP` matches nothing. */
function buildLog(bytes: number): Buffer {
  const next = sequence(20251120);
  const parts: Buffer[] = [];
  for (let size = 0; size < bytes; ) {
    const time = `2025-11-20T1${next(10)}:${10 + next(50)}:${10 + next(50)}.${100000000 + next(899999999)}Z`;
    const line = pickLine(next)(next, time);
    // Random digits sometimes form a 401; this log must not contain one.
    const part = Buffer.from(`${line.replaceAll("401", "402")}\n`);
    parts.push(part);
    size += part.length;
  }
  return Buffer.concat(parts);
}

function pickLine(next: Next): (n: Next, time: string) => string {
  return LINES[next(LINES.length)] ?? (() => "");
}

/** The fastest of several rounds, in seconds: other work on the machine only makes a round slower. */
function fastest(run: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < ROUNDS; i++) {
    const from = performance.now();
    run();
    best = Math.min(best, (performance.now() - from) / 1000);
  }
  return best;
}

/**
 * Measures the scanner against grep on the same log, and the classifier on the labelled records.
 * @param print called with each line of the result.
 */
// eslint-disable-next-line @typescript-eslint/require-await -- every benchmark is awaited, whether it waits or not
export async function benchClassifier(print: (line: string) => void): Promise<void> {
  const log = buildLog(LOG_BYTES);
  const folder = mkdtempSync(join(tmpdir(), "bench-classifier-"));
  try {
    const file = join(folder, "mixed.log");
    writeFileSync(file, log);
    let found = 0;
    const scan = fastest(() => scanRecords(log, () => found++));
    const grep = fastest(() => spawnSync("grep", ["-cE", GREP, file], { env: { LC_ALL: "C" } }));
    const mega = log.length / 1e6;
    print(`scanner: ${rate(mega / scan)} MB/s over ${rate(mega)} MB without a 401 (${found} records found)`);
    print(`grep -cE '${GREP}': ${rate(mega / grep)} MB/s; the scanner is ${(grep / scan).toFixed(2)} times as fast`);
  } finally {
    rmSync(folder, { recursive: true });
  }
  benchRecords(print);
}

function benchRecords(print: (line: string) => void): void {
  const lines = readFileSync(join(__dirname, "../fixtures/log-records.jsonl"), "utf8").trimEnd().split("\n");
  const records = lines.map(line => (JSON.parse(line) as { line: string }).line);
  const seconds = fastest(() => records.forEach(classify));
  print(`classify: ${rate(records.length / seconds)} records/s over the ${records.length} labelled records`);
}

function rate(value: number): string {
  return Math.round(value).toLocaleString("en");
}
