import { pathOf } from "../../../cluster/http/resources";
import { count } from "../../../core/text";
import { ResilienceError } from "../../../core/errors";
import { KINDS } from "../../../core/kinds";
import type { PodView } from "../../../core/views";
import { createDetector, type Detector, LogText, loadSpec } from "../../replay/log-text";
import { whyUnread } from "../reader";
import type { Session } from "../session";
import { apiUsers, type AuditFacts, isActive, type LogFacts } from "./facts";

/** The detection's window is 15 minutes by default. */
const SINCE_SECONDS = 900;
const TAIL_LINES = 5_000;
const MAX_BYTES = 1024 * 1024;

/** Most logs that one audit reads: half a gigabyte at worst. */
const MOST_LOGS = 500;
const CONCURRENT = 4;

interface Container {
  readonly pod: PodView;
  readonly name: string;
}

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
  const users = apiUsers(facts);
  const isUser = (pod: PodView): boolean => users.has(`${pod.namespace}/${pod.serviceAccountName}`);
  return (facts.pods ?? [])
    .filter(pod => isActive(pod) && pod.mountsToken === true && (isUser(pod) || pod.serviceAccountName !== "default"))
    .toSorted((a, b) => Number(isUser(b)) - Number(isUser(a)));
}

async function readOne(session: Session, { pod, name }: Container, detector: Detector): Promise<LogFacts> {
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
  return { pod, container: name, ...countIn(body, detector) };
}

/** Counts what the API server answered, as a log says. Pure. */
function countIn(body: Buffer, detector: Detector): Omit<LogFacts, "pod" | "container"> {
  const log = new LogText(detector);
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
