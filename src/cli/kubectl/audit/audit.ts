import { expiringBindings } from "./checks/bindings";
import { neverEvictable, onDelete } from "./checks/evictions";
import { sharedFlows } from "./checks/flows";
import { staleLeases } from "./checks/leases";
import { rejectedNow } from "./checks/logs";
import { unprotected } from "./checks/protection";
import { tokenLives } from "./checks/token-life";
import { failedTokens } from "./checks/failed-tokens";
import { oldTokens, recreatedByHook } from "./checks/tokens";
import { ownWebhooks } from "./checks/webhooks";
import { safeText } from "../lines";
import type { AuditFacts } from "./facts";
import { type Finding, worstFirst } from "./finding";

const ALL: readonly ((facts: AuditFacts) => readonly Finding[])[] = [
  rejectedNow,
  oldTokens,
  failedTokens,
  recreatedByHook,
  staleLeases,
  expiringBindings,
  neverEvictable,
  ownWebhooks,
  onDelete,
  tokenLives,
  sharedFlows,
  unprotected,
];

/** Others write annotations and names, which a finding quotes. A name of a RoleBinding may contain control characters. */
const LONGEST = 600;

/** Returns what would bite, worst first. With a namespace, only what concerns it. Pure. */
export function audit(facts: AuditFacts, namespace?: string): Finding[] {
  const findings = ALL.flatMap(check => check(facts)).map(finding => ({
    ...finding,
    name: safeText(finding.name),
    why: safeText(finding.why, LONGEST),
    wayOut: safeText(finding.wayOut, LONGEST),
    ...(finding.command !== undefined && { command: safeText(finding.command, LONGEST) }),
  }));
  // Cluster-wide bindings are needed to know who uses the API, but they are no part of a namespace.
  return worstFirst(
    namespace === undefined
      ? findings
      : findings.filter(finding => finding.namespace === namespace || finding.check === "OwnWebhook"),
  );
}
