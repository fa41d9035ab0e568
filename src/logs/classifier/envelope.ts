import { isDigitCode } from "./text";

const ESCAPE = 0x1b;
/** RFC 3339 with nanoseconds and an offset is 35 characters long. */
const LONGEST_TIMESTAMP = 36;
const STREAM_TAGS = ["stdout F ", "stderr F ", "stdout P ", "stderr P "];

/** Removes terminal colors: ESC [ parameters letter. */
export function stripColors(text: string): string {
  let at = text.indexOf("\x1b");
  if (at < 0) return text;
  const kept: string[] = [];
  let from = 0;
  while (at >= 0) {
    kept.push(text.slice(from, at));
    from = endOfEscape(text, at);
    at = text.indexOf("\x1b", from);
  }
  kept.push(text.slice(from));
  return kept.join("");
}

function endOfEscape(text: string, at: number): number {
  if (text.charCodeAt(at + 1) !== 0x5b) return at + 1;
  let end = at + 2;
  // Parameter and intermediate bytes run from 0x20 to 0x3f; the letter after them ends the sequence.
  while (text.charCodeAt(end) >= 0x20 && text.charCodeAt(end) <= 0x3f) end++;
  return text.charCodeAt(end) === ESCAPE ? end : Math.min(end + 1, text.length);
}

/** Returns the length of a leading RFC 3339 timestamp with the blank after it; 0 without one. */
export function timestampLength(line: string): number {
  if (!isDigitCode(line.charCodeAt(0)) || line.charAt(4) !== "-" || line.charAt(7) !== "-") return 0;
  if (line.charAt(10) !== "T" || line.charAt(13) !== ":") return 0;
  const blank = line.slice(0, LONGEST_TIMESTAMP).indexOf(" ");
  return blank < 0 ? 0 : blank + 1;
}

/** Removes the prefixes of the container runtime and of `kubectl logs --timestamps` from one line. */
function unwrapLine(line: string): { text: string; partial: boolean } {
  let text = line.endsWith("\r") ? line.slice(0, -1) : line;
  let partial = false;
  // At most two: --timestamps before the runtime's prefix.
  for (let i = 0; i < 2; i++) {
    const skip = timestampLength(text);
    if (skip === 0) break;
    const tag = STREAM_TAGS.find(t => text.startsWith(t, skip));
    partial = tag?.charAt(7) === "P";
    text = text.slice(skip + (tag?.length ?? 0));
  }
  return { text: fromJsonFile(text) ?? text, partial };
}

/** Returns the text of a line of Docker's json-file, `{"log":"...\n","stream":"stdout","time":"..."}`; null for other lines. */
function fromJsonFile(line: string): string | null {
  if (!line.startsWith('{"log":"') || !line.includes('"stream":"std')) return null;
  try {
    const entry = JSON.parse(line) as Record<string, unknown>;
    if (typeof entry["log"] !== "string" || Object.keys(entry).length > JSON_FILE_KEYS) return null;
    return stripColors(entry["log"].endsWith("\n") ? entry["log"].slice(0, -1) : entry["log"]);
  } catch {
    return null;
  }
}

/** log, stream, time and, with labels, attrs. Records of log shippers have more keys. */
const JSON_FILE_KEYS = 4;

/**
 * Returns the record as the program wrote it, without colors, runtime prefixes and timestamps. Joins a line that the
 * runtime cut (tag P) with the next.
 */
export function unwrap(record: string): string {
  const parts: string[] = [];
  for (const line of stripColors(record).split("\n")) {
    const { text, partial } = unwrapLine(line);
    parts.push(text, partial ? "" : "\n");
  }
  // No line break after the last line.
  if (parts.at(-1) === "\n") parts.pop();
  return parts.join("");
}
