import type { Steps } from "../../core/slices";
import { lastLine, startOfLine } from "./lines";
import { timestampAt, toMs, type Nanoseconds } from "./timestamp";

// A node's clock that was ahead and is set back leaves lines of the future in the log. The kubelet compares the time of each line with
// `sinceTime`, so every answer has them until their time has come, before the lines of the present. Pure.

/** A line that is further ahead of the operator's clock is one of the future; in milliseconds. Clocks of nodes may be off by half a minute. */
const AHEAD_MS = 30_000;

/** Lines of a container's two streams may be some milliseconds out of order; a clock that is set back makes a larger step. */
const STEP_NS: Nanoseconds = 1_000_000_000n;

/** Length of date and time up to the second. As text they are in order, but for a change of the node's time zone. */
const TO_THE_SECOND = "2006-01-02T15:04:05".length;

/** Reports whether a line is one of the future. */
export function isAhead(ns: Nanoseconds | undefined, nowMs: number): boolean {
  return ns !== undefined && toMs(ns) > nowMs + AHEAD_MS;
}

/** Reports whether the clock was set back after the line with this time: the last line of `text` is earlier. */
export function isSetBackAfter(ns: Nanoseconds, text: Buffer): boolean {
  return isStep(ns, timestampAt(text, lastLine(text)));
}

/** Returns the offset of the first line after the last place where the clock was set back; 0 if there is none. */
export function* lastSetBack(text: Buffer): Steps<number> {
  let later = lastLine(text);
  for (; later > 0; yield) {
    const start = startOfLine(text, later);
    const isEarlier = text.compare(text, later, later + TO_THE_SECOND, start, start + TO_THE_SECOND) > 0;
    const ns = isEarlier ? timestampAt(text, start) : undefined;
    if (ns !== undefined && isStep(ns, timestampAt(text, later))) return later;
    later = start;
  }
  return 0;
}

function isStep(ns: Nanoseconds, laterNs: Nanoseconds | undefined): boolean {
  return laterNs !== undefined && ns - laterNs > STEP_NS;
}
