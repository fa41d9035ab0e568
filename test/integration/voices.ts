import type { Voice } from "../rig/node";

const MIB = 1024 * 1024;

/** Rate of a log that is written as fast as the noisy ones, in bytes per second. */
const NOISE_BYTES_PER_SECOND = 10 * MIB;

/** Most bytes of one answer, whatever the call asks for, since these logs never end. */
const MOST_BYTES = 8 * MIB;

/** Chunk size that delivers the log as fast as it is read. */
const PIECE_BYTES = 256 * 1024;

/** Used if a call has no start time. */
const BACK_MS = 60_000;

/** A log that repeats one line at 10 MB/s, served as by a kubelet: from a whole second on, or only its last lines. */
function repeating(text: string): Voice {
  const bytes = text.length + 32;
  const everyMs = (1000 * bytes) / NOISE_BYTES_PER_SECOND;
  return function* ({ query }) {
    const nowMs = Date.now();
    const sinceMs = Date.parse(query.get("sinceTime") ?? "") || nowMs - BACK_MS;
    const tail = Number(query.get("tailLines") ?? Infinity);
    const most = Math.min(MOST_BYTES, Number(query.get("limitBytes") ?? MOST_BYTES));
    let atMs = Math.max(sinceMs, nowMs - tail * everyMs);
    let piece = "";
    for (let left = most; left > 0 && atMs < nowMs; left -= bytes, atMs += everyMs) {
      piece += `${stamp(atMs)} ${text}\n`.slice(0, left);
      if (piece.length < PIECE_BYTES) continue;
      yield piece;
      piece = "";
    }
    yield piece;
  };
}

/** A log with a 401 every 20 seconds for the last five minutes, and little else. */
export const stale: Voice = function* ({ query }) {
  const nowMs = Date.now();
  const sinceMs = Date.parse(query.get("sinceTime") ?? "") || 0;
  for (let atMs = nowMs - 300_000 - (nowMs % 20_000); atMs < nowMs; atMs += 20_000) {
    if (atMs >= sinceMs) yield `${stamp(atMs)} E1120 1 reflector.go:227] "Failed to watch" err="Unauthorized"\n`;
  }
};

/** A timestamp in nanoseconds, as kubelets write it. */
function stamp(ms: number): string {
  const whole = Math.floor(ms);
  const rest = Math.floor((ms - whole) * 1e6);
  return new Date(whole).toISOString().replace("Z", `${String(rest).padStart(6, "0")}Z`);
}

/** Logs of 10 MB/s; each kind is expensive for another part of the reader. */
export const NOISES: Readonly<Record<string, Voice>> = {
  /** Plain words. */
  words: repeating('I1120 13:47:14.474533       1 controller.go:12] "Synced" object="team/web" duration="3ms"'),
  /** The 401s answer another client's requests, so each line must be classified in full. */
  "access-log": repeating('10.0.0.1 - - "GET /api/v1/pods HTTP/1.1" 401 12 "-" "curl/8.0"'),
  /** Lines of 5 MB. */
  "long-lines": repeating("x".repeat(5 * MIB)),
};
