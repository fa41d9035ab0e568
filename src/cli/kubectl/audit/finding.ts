import { count, oneLine } from "../../../core/text";
import { describeSubject } from "../subject";
import { type Look, type Paint, wrapText } from "../terminal";

/** Worst first. critical: it fails now. warning: it fails at a foreseeable event. notice: nothing would notice or contain a failure. */
export const SEVERITIES = ["critical", "warning", "notice"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Returns a number of findings, such as `2 critical` or `1 warning`. */
export function countOf(amount: number, severity: Severity): string {
  return severity === "critical" ? `${amount} critical` : count(amount, severity);
}

/** Something that would bite. */
export interface Finding {
  /** Of the object that it is about. */
  readonly kind: string;
  /** Empty: cluster-scoped. */
  readonly namespace: string;
  readonly name: string;
  readonly severity: Severity;
  /** Name of the check. */
  readonly check: CheckName;
  /** What was found, and why it bites. */
  readonly why: string;
  /** The way out. */
  readonly wayOut: string;
  /** A command line to copy, which belongs to the end of the way out. */
  readonly command?: string;
  /** Sorts findings of one severity and check, smallest first, such as the days that are left. Absent: by name. */
  readonly rank?: number;
}

/** Every check, with its title. The order is that of the report within a severity. */
export const CHECKS = {
  RejectedNow: "The API server answers a controller 401 now",
  ForbiddenNow: "The API server answers a controller 403 now",
  OldToken: "Pods older than their ServiceAccount",
  MissingServiceAccount: "Pods without their ServiceAccount",
  FailedToken: "Pods for which the kubelet gets no token",
  RecreatedByHook: "ServiceAccounts recreated by Helm or Argo CD hooks",
  StaleLease: "Leases that their running holder does not renew",
  WorkDue: "Objects with work while none of their kind moves",
  ExpiringBinding: "Role bindings that expire",
  RefusedRequests: "Refused requests that no log explains",
  Unprotected: "Workloads that use the API and are unprotected",
} as const;
export type CheckName = keyof typeof CHECKS;

const ORDER = Object.keys(CHECKS);

/** Sorts findings, worst first. */
export function worstFirst(findings: readonly Finding[]): Finding[] {
  const keyOf = ({ namespace, kind, name }: Finding): string => `${namespace}/${kind}/${name}`;
  return findings.toSorted(
    (a, b) =>
      SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
      ORDER.indexOf(a.check) - ORDER.indexOf(b.check) ||
      (a.rank ?? 0) - (b.rank ?? 0) ||
      (keyOf(a) < keyOf(b) ? -1 : 1),
  );
}

/** The result of an audit. */
export interface Report {
  readonly server: string;
  /** Name of the kubeconfig's context; absent in a pod. */
  readonly context?: string;
  /** Whether logs were read. */
  readonly logs: boolean;
  /** RFC 3339. */
  readonly time: string;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly findings: readonly Finding[];
  /** Reads that were refused or have failed, each with its reason. */
  readonly unread: readonly string[];
}

const STYLES: Readonly<Record<Severity, Parameters<Paint>[0]>> = { critical: "red", warning: "yellow", notice: "cyan" };

/** Notices of one check that are named. */
const NAMED = 3;

/** Formats a report for a terminal: each critical finding and warning, and the number of notices of each check. */
export function formatReport(report: Report, { paint, columns }: Look): string {
  const { findings, unread } = report;
  const serious = findings.filter(({ severity }) => severity !== "notice");
  const blocks = serious.map(finding => formatFinding(finding, { paint, columns }));
  return [
    ...blocks,
    ...formatNotices(findings, { paint, columns }),
    ...(unread.length > 0 ? [formatUnread(unread, columns)] : []),
    summaryOf(report),
  ].join("\n");
}

function formatFinding(finding: Finding, { paint, columns }: Look): string {
  const { severity, why, check } = finding;
  const label = paint(STYLES[severity], severity.toUpperCase().padEnd(8));
  return [
    `${label}  ${paint("bold", describeSubject(finding))}  ${paint("dim", check)}`,
    ...wrapText(why, "  why  ", columns),
    ...formatWayOut(finding, columns),
    "",
  ].join("\n");
}

/** A command stays on one line, so that it can be copied. */
function formatWayOut({ wayOut, command }: Finding, columns: number): string[] {
  return [...wrapText(wayOut, "  do   ", columns), ...(command === undefined ? [] : [`       ${oneLine(command)}`])];
}

function formatNotices(findings: readonly Finding[], { paint, columns }: Look): string[] {
  const notices = findings.filter(({ severity }) => severity === "notice");
  const checks = (Object.keys(CHECKS) as CheckName[]).filter(check => notices.some(one => one.check === check));
  return checks.map(check => {
    const own = notices.filter(one => one.check === check);
    const names = own.slice(0, NAMED).map(describeSubject);
    const more = own.length > NAMED ? ` and ${own.length - NAMED} more (-o json)` : "";
    return [
      `${paint("cyan", "NOTICE".padEnd(8))}  ${CHECKS[check]}: ${own.length}`,
      ...wrapText(`${names.join(", ")}${more}`, "       ", columns),
      ...wrapText(own[0]?.why ?? "", "  why  ", columns),
      ...own.slice(0, 1).flatMap(one => formatWayOut(one, columns)),
      "",
    ].join("\n");
  });
}

function formatUnread(unread: readonly string[], columns: number): string {
  const lines = unread.flatMap(one => wrapText(one, "  - ", columns));
  return ["INCOMPLETE: some reads were refused or have failed.", ...lines, ""].join("\n");
}

/** One line that says what was found. */
export function summaryOf({ findings, unread, server, namespace }: Report): string {
  const counts = SEVERITIES.map(severity => ({
    severity,
    amount: findings.filter(one => one.severity === severity).length,
  }));
  const found = counts.filter(({ amount }) => amount > 0).map(({ severity, amount }) => countOf(amount, severity));
  const where = namespace === undefined ? server : `namespace ${namespace} of ${server}`;
  const what = found.length === 0 ? "found nothing" : `found ${found.join(", ")}`;
  return `Audit of ${oneLine(where)}: ${what}${unread.length > 0 ? "; not everything could be read" : ""}.`;
}
