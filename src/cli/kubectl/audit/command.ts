import { type Command, Option } from "commander";
import { accountsOf } from "../../../core/views";
import { addClusterCommand, type Flags, type Shell } from "../command";
import { CliError } from "../../streams";
import { Exit, type ExitCode, safeText } from "../terminal";
import type { Session } from "../session";
import { expiringBindings, failedTokens, oldTokens, recreatedByHook, rejectedNow, unprotected } from "./checks";
import type { AuditFacts } from "./facts";
import { CHECKS, type Finding, SEVERITIES, type Severity, worstFirst, formatReport, type Report } from "./finding";
import { formatHtml } from "./html";
import { OPERATOR_NAMESPACE, PartialReader } from "../reader";
import { unexplainedRefusals } from "./logs";
import { readFacts } from "./reader";

interface AuditFlags {
  readonly logs?: boolean;
  readonly failOn: Severity;
}

/** `audit`: what would bite in a cluster. */
export function registerAudit(program: Command, shell: Shell): void {
  addClusterCommand<AuditFlags>(program, shell, {
    usage: "audit",
    summary: "find problems before they cause an outage, read-only, with nothing installed",
    description: `Find problems before they cause an outage, worst first, each with its reason and the way out. It only reads, and needs nothing installed. What you may not read is reported as unknown, and if nothing else was found, the exit code is 1. Without -n it looks at all namespaces but ${OPERATOR_NAMESPACE}.\n\nChecks:\n${checks()}`,
    examples: [
      ["audit", "the whole cluster"],
      [
        "audit --logs",
        "also read the last 15 minutes of the logs of pods that use the API, for 401s and 403s, and count the requests that the API server refuses",
      ],
      ["audit -n shop", "one namespace"],
      ["audit -o html > audit.html", "a page to send or print; it needs no network"],
      ["audit --fail-on critical -o json", "for a pipeline: fail on critical findings only"],
    ],
    formats: ["json", "yaml", "html"],
    namespace: "all",
    options: [
      new Option("--logs", "read logs, bounded: 500 containers, 1 MiB each; their text is never printed"),
      new Option("--fail-on <severity>", "least severity that makes the exit code 2")
        .choices(SEVERITIES)
        .default("warning"),
    ],
    run: runAudit,
  });
}

function checks(): string {
  return Object.entries(CHECKS)
    .map(([name, title]) => `  ${name.padEnd(23)}${title}`)
    .join("\n");
}

async function runAudit(session: Session, flags: Flags<AuditFlags>): Promise<ExitCode> {
  const namespace = session.isNamespaceChosen ? session.namespace : undefined;
  const reader = new PartialReader(session);
  const logs = flags.logs === true;
  const facts = await readFacts(session, reader, { logs, ...(namespace && { namespace }) });
  requireSomething(facts, reader.unread, namespace);
  const report: Report = {
    server: session.server,
    ...(session.context !== undefined && { context: session.context }),
    logs,
    time: new Date(facts.nowMs).toISOString(),
    ...(namespace && { namespace }),
    findings: audit(facts, session, namespace),
    unread: reader.unread,
  };
  const { output } = session;
  await output.result(report, () => (flags.output === "html" ? formatHtml(report) : formatReport(report, output)));
  return exitCodeOf(report, flags.failOn);
}

/** @throws CliError if an audit of what was read would look like good news */
function requireSomething(facts: AuditFacts, unread: readonly string[], namespace: string | undefined): void {
  if (facts.pods === undefined && facts.workloads === undefined && facts.bindings === undefined)
    throw new CliError(
      `nothing could be read: ${unread[0] ?? ""}; ask for the ClusterRole view${namespace === undefined ? ", or use -n" : ` in ${namespace}`}`,
    );
  // The name may be misspelt.
  if (namespace !== undefined && facts.namespaces?.length === 0)
    throw new CliError(`namespace ${namespace} does not exist`);
}

/** Nothing found where not everything could be read is no success. */
function exitCodeOf({ findings, unread }: Report, failOn: Severity): ExitCode {
  const limit = SEVERITIES.indexOf(failOn);
  if (findings.some(({ severity }) => SEVERITIES.indexOf(severity) <= limit)) return Exit.findings;
  return unread.length > 0 ? Exit.error : Exit.ok;
}

const ALL: readonly ((facts: AuditFacts) => readonly Finding[])[] = [
  rejectedNow,
  oldTokens,
  failedTokens,
  recreatedByHook,
  ({ staleLeases = [] }) => staleLeases,
  ({ overdue = [] }) => overdue,
  expiringBindings,
  unexplainedRefusals,
  unprotected,
];

/** Others write annotations and names, which a finding quotes. A name of a RoleBinding may contain control characters. */
const LONGEST = 600;

/** Returns what would bite, worst first, with commands for the session's cluster. With a namespace, only what concerns it. Pure. */
function audit(facts: AuditFacts, session: Pick<Session, "command">, namespace?: string): Finding[] {
  const asked = ALL.flatMap(check => check(facts)).filter(one => concerns(one, facts, namespace));
  const findings = asked.map(finding => ({
    ...finding,
    name: safeText(finding.name),
    why: safeText(finding.why, LONGEST),
    wayOut: safeText(finding.wayOut, LONGEST),
    ...(finding.command !== undefined && { command: session.command(safeText(finding.command, LONGEST)) }),
  }));
  return worstFirst(findings).map(({ rank, ...finding }) => finding);
}

/** Of what is in no namespace only the bindings of its ServiceAccounts concern one. The operator has alerts: only who asks for its namespace is told. */
function concerns(finding: Finding, { bindings = [] }: AuditFacts, namespace?: string): boolean {
  if (namespace === undefined) return finding.namespace !== OPERATOR_NAMESPACE;
  if (finding.namespace !== "") return finding.namespace === namespace;
  const own = bindings.filter(({ kind, name }) => kind === finding.kind && name === finding.name);
  return own.some(({ subjects }) => subjects.some(one => accountsOf(one)?.startsWith(`${namespace}/`)));
}
