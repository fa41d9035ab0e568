import { count, oneLine } from "../../../core/text";

/** Worst first. critical: it fails now. warning: it fails at a foreseeable event. notice: nothing would notice or contain a failure. */
export const SEVERITIES = ["critical", "warning", "notice"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Returns a number of findings, such as `2 critical` or `1 warning`. */
export function countOf(amount: number, severity: Severity): string {
  return severity === "critical" ? `${amount} critical` : count(amount, severity);
}

/** The object that a finding is about. */
export interface Subject {
  readonly kind: string;
  /** Empty: cluster-scoped. */
  readonly namespace: string;
  readonly name: string;
}

/** Something that would bite. */
export interface Finding extends Subject {
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
  ExpiringBinding: "Role bindings that expire",
  NeverEvictable: "PodDisruptionBudgets that never allow an eviction",
  OnDelete: "Workloads with updateStrategy OnDelete",
  LongToken: "DaemonSets with long-lived tokens",
  KeepToken: "DaemonSets whose token must not be shortened without a trial",
  NoFlow: "ServiceAccounts without a flow of their own",
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

/** Returns an object as `Pod shop/web-1`. */
export function nameOf({ kind, namespace, name }: Subject): string {
  return oneLine(`${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`);
}
