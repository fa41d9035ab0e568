import { pairsOf, stripColors, takeJson, unescape, unwrap } from "./unwrap";
import { isSpaceCode, lowerCase, words } from "./text";

/** One sentence of a record, and the key of its field ("" for free text). */
export interface Sentence {
  /** Key of its field, in lower case. */
  readonly key: string;
  /** The text, unquoted and unescaped. */
  readonly text: string;
  /** Whether it is part of a server's answer that is no Status object. */
  readonly body: boolean;
}

/** A record split into its parts. */
export interface ParsedRecord {
  /** The whole record without prefixes, colors and escapes. */
  readonly text: string;
  /** `text` in lower case. */
  readonly lower: string;
  /** The statements of the process, in order, without the fields of SPEAKER_KEYS. */
  readonly sentences: readonly Sentence[];
  /** First value of every key, keys in lower case. */
  readonly fields: ReadonlyMap<string, string>;
  /** The stack frame that threw the error; "" without one. Of Python only frames in a Kubernetes client. */
  readonly thrower: string;
}

/** Levels of logs quoted in logs: a log shipper's line may contain klog, which contains JSON. */
const MAX_QUOTING = 4;

/** Splits a record into its parts. Never throws; reads the record a fixed number of times. */
export function parseRecord(record: string): ParsedRecord {
  const plain = unwrap(record);
  // Escaped colors appear only after unescaping.
  const text = stripColors(unescape(plain));
  const parts: Parts = { sentences: [], fields: new Map(), thrower: "" };
  readText(plain, { key: "", depth: 0, body: false }, parts);
  return { text, lower: lowerCase(text), ...parts };
}

interface Parts {
  sentences: Sentence[];
  fields: Map<string, string>;
  thrower: string;
}

/** The field that a text is the value of. */
interface Place extends Omit<Sentence, "text"> {
  /** Levels of quoting around it. */
  readonly depth: number;
}

function readText(text: string, place: Place, parts: Parts): void {
  const json = place.depth <= MAX_QUOTING ? takeJson(text) : null;
  if (json === null) {
    readLines(text, place, parts);
    return;
  }
  const inner = { ...place, depth: place.depth + 1 };
  readLines(json.before, place, parts);
  for (const { key, value, body } of json.leaves) {
    readField(value, { ...inner, key: key || place.key, body: body || place.body }, parts);
  }
  readText(json.after, inner, parts);
}

function readLines(text: string, place: Place, parts: Parts): void {
  const { key, body } = place;
  let frame = "";
  for (const line of text.split("\n")) {
    if (isFrame(line)) {
      frame = line;
      parts.thrower ||= frameOf(line);
      continue;
    }
    if (isRaise(line)) parts.thrower ||= clientFileOf(frame);
    const { free, pairs } = pairsOf(messageColumn(line));
    // An unquoted name is one word; the sentence continues after it.
    const tails = pairs.filter(pair => SPEAKER_KEYS.has(lowerCase(pair.key))).map(pair => pair.tail);
    for (const sentence of unescape([free, ...tails].join(" ")).split("\n")) {
      if (sentence.trim() !== "") parts.sentences.push({ key, body, text: sentence.trim() });
    }
    for (const pair of pairs) readField(pair.value, { key: pair.key, body, depth: place.depth + 1 }, parts);
  }
}

function readField(value: string, place: Place, parts: Parts): void {
  const key = lowerCase(place.key);
  if (!parts.fields.has(key)) parts.fields.set(key, value);
  if (SPEAKER_KEYS.has(key) || value === "") return;
  if (place.depth <= MAX_QUOTING) readText(stripColors(value), { ...place, key }, parts);
  else parts.sentences.push({ key, body: place.body, text: value });
}

/** Whether a line is a stack frame (or empty). It names code and is no sentence. */
function isFrame(line: string): boolean {
  let start = 0;
  while (isSpaceCode(line.charCodeAt(start))) start++;
  if (start === line.length) return true;
  // Go prints package/path.Function, and the file on the next line.
  if (line.indexOf(" ", start) < 0 && line.includes("/") && !line.includes("://") && !line.includes('"')) return true;
  return start > 0 && (line.startsWith("at ", start) || line.startsWith('File "', start));
}

/** Returns a frame of Java, .NET or Node; "" for others. */
function frameOf(line: string): string {
  const frame = line.trim();
  return frame.startsWith("at ") ? frame : "";
}

/** Whether a line is Python's source line below the frame that raised the exception. */
function isRaise(line: string): boolean {
  const source = line.trim();
  return source === "raise" || source.startsWith("raise ");
}

/** Returns the file of a frame inside a Kubernetes client for Python, from the package's folder on; "" for others. */
function clientFileOf(frame: string): string {
  const at = frame.indexOf(PACKAGES);
  const file = at < 0 ? "" : frame.slice(at + PACKAGES.length);
  return PYTHON_CLIENTS.has(file.split("/", 1)[0] ?? "") ? file : "";
}

/** `site-packages/`, or `dist-packages/` of Debian. */
const PACKAGES = "-packages/";
const PYTHON_CLIENTS = new Set(["kubernetes", "kubernetes_asyncio", "pykube", "lightkube", "kr8s"]);

/** Returns the last of tab-separated columns (time, level, logger, caller, message); other lines unchanged. */
function messageColumn(line: string): string {
  const tab = line.indexOf("\t");
  if (tab < 0) return line;
  const columns = line.split("\t").filter(c => c.trim() !== "");
  const level = lowerCase((columns[1] ?? "").trim());
  return LEVELS.has(level) ? (columns.at(-1) ?? "") : line;
}

const LEVELS = new Set(["debug", "info", "warn", "warning", "error", "fatal", "panic", "dpanic", "trace", "critical"]);

/** Keys for the process, the time or the object that a record is from. They never name the server that was asked. */
const SPEAKER_KEYS = new Set([
  ...words(
    "ts time timestamp @timestamp @t t date datetime asctime eventtime uptime epoch level lvl severity @l",
    "loglevel log.level levelname level_name priority stream tag logger log.logger logger_name loggername",
    "logname name caller file filename line lineno func function funcname module component subsys",
    "subsystem source sourcecontext target app application service service.name program process pid",
    "thread thread_name threadname host hostname host.name _hostname pod pod_name podname container",
    "container_name container_id namespace ns namespace_name labels kind controller controllerkind",
    "controllergroup reconciler reconcileid object key uid version trace_id span_id traceid spanid",
    "stacktrace category _comm _exe _cmdline _systemd_unit syslog_identifier image image_name user_agent",
    "useragent",
  ),
]);
