/** Receives progress messages; `passing` means that the next text replaces this one ("compiling 12 of 900"). */
export type Progress = (text: string, passing?: boolean) => void;

/** For callers without interest in progress. */
export const silent: Progress = () => undefined;

const LINE_EVERY_MS = 15_000;
const CLEAR_LINE = "\r\u001B[K";

/**
 * Prints progress: on a terminal, passing text is overwritten; elsewhere (CI) it becomes a line
 * every 15 s, so that a log shows that the process still works. Every line starts with the elapsed seconds.
 */
export function printer(out: NodeJS.WriteStream, now: () => number = Date.now): Progress {
  const start = now();
  let lastLine = -Infinity;
  return (text, passing = false) => {
    const stamp = `${((now() - start) / 1000).toFixed(1).padStart(6)} s  `;
    if (out.isTTY) {
      const width = out.columns > 0 ? out.columns - 1 : 79;
      out.write(passing ? `${CLEAR_LINE}${`${stamp}${text}`.slice(0, width)}` : `${CLEAR_LINE}${stamp}${text}\n`);
    } else if (!passing || now() - lastLine >= LINE_EVERY_MS) {
      out.write(`${stamp}${text}\n`);
      lastLine = now();
    }
  };
}
