import { oneLine } from "../../../core/text";
import { wrapText, formatTable, type Look, type Paint } from "../terminal";
import type { Unread } from "./facts";
import { type CheckName, CHECKS, countOf, nameOf, type Finding, SEVERITIES, type Severity } from "./finding";

/** The result of an audit. */
export interface Report {
  readonly server: string;
  /** RFC 3339. */
  readonly time: string;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly findings: readonly Finding[];
  readonly unread: readonly Unread[];
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
    `${label}  ${paint("bold", nameOf(finding))}  ${paint("dim", check)}`,
    ...wrapText(why, "  why  ", columns),
    ...formatWayOut(finding, columns),
    "",
  ].join("\n");
}

/** A command stays on one line, so that it can be copied. */
function formatWayOut({ wayOut, command }: Finding, columns: number): string[] {
  return [...wrapText(wayOut, "  do   ", columns), ...(command === undefined ? [] : [`       ${command}`])];
}

function formatNotices(findings: readonly Finding[], { paint, columns }: Look): string[] {
  const notices = findings.filter(({ severity }) => severity === "notice");
  const checks = (Object.keys(CHECKS) as CheckName[]).filter(check => notices.some(one => one.check === check));
  return checks.map(check => {
    const own = notices.filter(one => one.check === check);
    const names = own.slice(0, NAMED).map(nameOf);
    const more = own.length > NAMED ? ` and ${own.length - NAMED} more (-o wide)` : "";
    return [
      `${paint("cyan", "NOTICE".padEnd(8))}  ${CHECKS[check]}: ${own.length}`,
      ...wrapText(`${names.join(", ")}${more}`, "       ", columns),
      ...wrapText(own[0]?.why ?? "", "  why  ", columns),
      ...own.slice(0, 1).flatMap(one => formatWayOut(one, columns)),
      "",
    ].join("\n");
  });
}

function formatUnread(unread: readonly Unread[], columns: number): string {
  const lines = unread.flatMap(({ what, why, unknown }) =>
    wrapText(`${what}: ${why}; unknown: ${unknown}`, "  - ", columns),
  );
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

/** Formats each finding on one line. */
export function formatWide({ findings }: Report, paint: Paint): string {
  const rows = findings.map(finding => [
    paint(STYLES[finding.severity], finding.severity),
    finding.check,
    nameOf(finding),
    oneLine([finding.why, finding.wayOut, finding.command].join(" ")),
  ]);
  return formatTable([["SEVERITY", "CHECK", "OBJECT", "WHY AND WHAT TO DO"], ...rows]);
}
