import { pathOf } from "../../../cluster/http/resources";
import { readServerCounts } from "../../../cluster/measure/metrics";
import type { LogClass } from "../../../logs/classifier/classify";
import { isFromOtherPod } from "../../../logs/classifier/other-pod";
import { count, serviceAccountUser } from "../../../core/text";
import { ResilienceError } from "../../../core/errors";
import { KINDS } from "../../../core/kinds";
import { formatDuration } from "../../../core/time";
import type { PodView } from "../../../core/views";
import { createDetector, type Detector, LogText, loadSpec } from "../../replay/log-text";
import { whyUnread } from "../reader";
import type { Session } from "../session";
import { type AuditFacts, boundOf, isActive, type LogFacts, type RefusedFacts } from "./facts";
import type { Finding } from "./finding";

/** The detection's window is 15 minutes by default. */
const SINCE_SECONDS = 900;
const TAIL_LINES = 5_000;
const MAX_BYTES = 1024 * 1024;

/** Most logs that one audit reads: half a gigabyte at worst. */
const MOST_LOGS = 500;
const CONCURRENT = 4;

/** Reads the end of the logs of the pods that use the API, bounded in number, lines and bytes. Keeps counts, never text. */
export async function readLogs(session: Session, facts: AuditFacts, unread: string[]): Promise<LogFacts[]> {
  const containers = likelyUsers(facts).flatMap(pod =>
    pod.containers.filter(({ role, running }) => role !== "init" && running).map(({ name }) => ({ pod, name })),
  );
  const detector = createDetector(loadSpec(undefined));
  const read = containers.slice(0, MOST_LOGS);
  session.say(`reads ${count(read.length, "log")}`);
  const found: LogFacts[] = [];
  const failures: string[] = [];
  const rest = read.values();
  const worker = async (): Promise<void> => {
    for (const container of rest)
      try {
        found.push(await readOne(session, container, detector));
      } catch (error) {
        if (!(error instanceof ResilienceError)) throw error;
        failures.push(whyUnread(error));
      }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, worker));
  const skipped = containers.length - read.length;
  if (failures.length > 0) unread.push(`read ${count(failures.length, "log")}: ${failures.toSorted()[0] ?? ""}`);
  if (skipped > 0) unread.push(`read ${count(skipped, "more log")}: one audit reads ${MOST_LOGS}; use -n`);
  return found;
}

/** Pods that use the API by their bindings come first. Others with a ServiceAccount of their own may do so too: their binding may be gone. */
function likelyUsers(facts: AuditFacts): PodView[] {
  const isBound = boundOf(facts);
  const isUser = (pod: PodView): boolean => isBound(pod) === true;
  return (facts.pods ?? [])
    .filter(pod => isActive(pod) && pod.mountsToken === true && (isUser(pod) || pod.serviceAccountName !== "default"))
    .toSorted((a, b) => Number(isUser(b)) - Number(isUser(a)));
}

async function readOne(
  session: Session,
  { pod, name }: { pod: PodView; name: string },
  detector: Detector,
): Promise<LogFacts> {
  const what = `read the log of ${pod.namespace}/${pod.name}`;
  const path = pathOf(KINDS.Pod, { namespace: pod.namespace, name: pod.name, subresource: "log" });
  const query = {
    container: name,
    timestamps: true,
    sinceSeconds: SINCE_SECONDS,
    tailLines: TAIL_LINES,
    limitBytes: MAX_BYTES,
  };
  const body = await session.bytes({ what, path, query, maxBytes: 2 * MAX_BYTES });
  // As for the operator, the 401s of others are no evidence.
  const foreign = pod.logsForeign401s === true && { unauthorized: "none" as const };
  return { pod, container: name, ...countIn(body, detector, pod), ...foreign };
}

/** The user of a request that was denied, in RBAC's words; quotes are escaped where a log has it inside of JSON. */
const DENIED_USER = /\buser \\{0,3}"([^"\\]{1,600})/i;

/**
 * Reports whether a request was denied to another than the pod, such as a user of a dashboard, or one whose log it ships: what that lacks, nobody
 * should grant to the pod.
 */
function isDeniedToOther(record: string, pod: PodView): boolean {
  const own = serviceAccountUser(pod.namespace, pod.serviceAccountName);
  const [, user = own] = DENIED_USER.exec(record) ?? [];
  return user !== own || isFromOtherPod(record, pod);
}

/** Counts what the API server answered, as a log says. Pure. */
function countIn(body: Buffer, detector: Detector, pod: PodView): Omit<LogFacts, "pod" | "container"> {
  const isCounted = (cls: LogClass, record: Buffer): boolean =>
    cls === "forbidden" && !isDeniedToOther(record.toString("utf8"), pod);
  const log = new LogText(detector, pod, isCounted);
  log.push(body);
  log.end();
  const { action, occasionsMs } = log.replay;
  const { records: forbidden = 0, lastMs: lastForbiddenMs } = log.counts.of("forbidden") ?? {};
  return {
    unauthorized: action !== undefined ? "persistent" : occasionsMs.length > 0 ? "some" : "none",
    occasions: occasionsMs.length,
    needed: detector.rule.occasions,
    forbidden,
    ...(lastForbiddenMs !== undefined && { lastForbiddenMs }),
  };
}

/** Fewer refused requests say nothing: clients probe for rights. */
const REFUSED_FROM = 3;

/** Requests are counted for at least as long, in milliseconds. */
const COUNTED_MS = 10_000;

/** Counts the requests that the API server refuses while the logs are read. */
export async function countRefused(
  session: Session,
  unread: string[],
  readsLogs: Promise<unknown>,
): Promise<RefusedFacts | undefined> {
  const read = (): ReturnType<typeof readServerCounts> => readServerCounts(session);
  try {
    const before = await read();
    await readsLogs;
    const leftMs = before.atMs + COUNTED_MS - session.clock.monotonicMs();
    if (leftMs > 0) await session.wait("requests that the API server refuses", leftMs);
    const after = await read();
    // Another server may have answered.
    if (after.startSeconds !== before.startSeconds) return undefined;
    const grown = (code: "401" | "403"): number => (after.counts.get(code) ?? 0) - (before.counts.get(code) ?? 0);
    const counts = { "401": grown("401"), "403": grown("403") };
    return { host: new URL(session.server).host, durationMs: after.atMs - before.atMs, counts };
  } catch (error) {
    if (!(error instanceof ResilienceError)) throw error;
    unread.push(`count refused requests: ${whyUnread(error)}`);
    return undefined;
  }
}

/** Requests that the API server refuses, and that no log explains: while that goes on, the operator reads all logs more often. */
export function unexplainedRefusals({ refused, logs = [] }: AuditFacts): Finding[] {
  if (refused === undefined) return [];
  const isExplained = {
    "401": logs.some(({ unauthorized }) => unauthorized !== "none"),
    "403": logs.some(({ forbidden }) => forbidden > 0),
  };
  const left = (["401", "403"] as const).filter(code => !isExplained[code] && refused.counts[code] >= REFUSED_FROM);
  if (left.length === 0) return [];
  const what = left.map(code => `${refused.counts[code]} with ${code}`).join(" and ");
  return [
    {
      ...({
        severity: "notice",
        check: "RefusedRequests",
        kind: "APIServer",
        namespace: "",
        name: refused.host,
      } as const),
      why: `it refused requests within ${formatDuration(refused.durationMs)}: ${what}; no log that was read explains it. The operator reads logs every 30 s instead of every 5 min while that goes on.`,
      wayOut: "Find the client by sourceIPs and userAgent in the audit log of the API server, and mend or stop it.",
    },
  ];
}
