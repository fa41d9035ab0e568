import { type BindingView, describeRecreator, type PodView, type ServiceAccountView } from "../../../core/views";
import { capitalize, modeOf } from "../../../core/remedy";
import { count, firstOf } from "../../../core/text";
import { formatDuration } from "../../../core/time";
import { protectionsOf } from "../../../engine/cluster-wide/coverage";
import { mountsToken } from "../../../engine/cluster-wide/facts";
import { isBeingDeleted } from "../../../engine/cluster-wide/generated";
import { planNamespace } from "../../../engine/cluster-wide/plan";
import { type Expiry, readExpiry } from "../../../remedies/binding-renewal/conventions";
import { isRenewed } from "../../../remedies/binding-renewal/finding";
import { incidentsOf } from "../../../remedies/token-restart/proof";
import { describeSubject } from "../subject";
import { type AuditFacts, boundOf, isActive, type LogFacts } from "./facts";
import type { Finding, Severity } from "./finding";

/** Pods whose token names a ServiceAccount that is gone. */
export function oldTokens(facts: AuditFacts): Finding[] {
  const { pods = [], accounts, logs = [] } = facts;
  if (accounts === undefined) return [];
  const byName = new Map(accounts.map(account => [`${account.namespace}/${account.name}`, account]));
  const isBound = boundOf(facts);
  const rejected = new Set(logs.filter(one => one.unauthorized !== "none").map(({ pod }) => pod.uid));
  return pods.filter(isActive).flatMap(pod => {
    const account = byName.get(`${pod.namespace}/${pod.serviceAccountName}`);
    if (pod.mountsToken === false) return [];
    if (account === undefined) return [missingAccount(pod)];
    // It gets its token on its node.
    if (pod.nodeName === undefined) return [];
    return olderPod(pod, account, facts.nowMs, { isUser: isBound(pod), isRejected: rejected.has(pod.uid) });
  });
}

/** Why a token that is not valid may harm nothing, by whether a role is bound to its ServiceAccount. */
const DOUBTS: ReadonlyMap<boolean | undefined, string> = new Map([
  [false, "; no role is bound to the ServiceAccount, so it may not need it"],
  [undefined, "; whether a role is bound to the ServiceAccount is unknown"],
]);

function olderPod(
  pod: PodView,
  account: ServiceAccountView,
  nowMs: number,
  { isUser, isRejected }: { isUser: boolean | undefined; isRejected: boolean },
): Finding[] {
  const context = { spec: { evidence: ["ServiceAccountAge" as const] }, rotation: undefined, nowMs };
  const [incident] = incidentsOf(pod, account, context);
  // It had no token before.
  if (incident === undefined) return [];
  const { proof } = incident;
  const age = formatDuration(nowMs - account.createdAtMs);
  const base = { kind: "Pod", namespace: pod.namespace, name: pod.name, check: "OldToken" } as const;
  const recreated = `its ServiceAccount ${account.name} was recreated ${age} ago${describeRecreator(account, "does it")}`;
  if (proof === undefined) {
    const why = `${recreated}, after it started. The kubelet has replaced its token since, but a client that does not read its token again is still answered 401.`;
    return isUser === false
      ? []
      : [{ ...base, severity: "notice", why, ...restartPod(pod, "If audit --logs shows that it is,") }];
  }
  // As for the operator, one 401 confirms the age.
  const isSure = (proof.alone && isUser === true) || isRejected;
  const doubt = isRejected ? undefined : DOUBTS.get(isUser);
  const why = `${recreated}, so the token that it got before is not valid${doubt ?? ""}.`;
  return [
    {
      ...base,
      severity: isSure ? "critical" : isUser ? "warning" : "notice",
      why,
      ...restartPod(pod),
    },
  ];
}

function missingAccount(pod: PodView): Finding {
  const { namespace, name, serviceAccountName } = pod;
  return {
    ...{ severity: "critical", check: "MissingServiceAccount", kind: "Pod", namespace, name },
    why: `its ServiceAccount ${serviceAccountName} does not exist: its token is not valid, and no successor can be created.`,
    ...createAccount(pod),
  };
}

/** ServiceAccounts of workloads that a hook deletes and creates again. One that only Jobs use is created before they are. */
export function recreatedByHook({ accounts = [], workloads = [] }: AuditFacts): Finding[] {
  return accounts.flatMap(({ namespace, name, hook, automount }) => {
    const users = workloads.filter(
      one => one.namespace === namespace && one.serviceAccountName === name && mountsToken(one, automount),
    );
    if (hook === undefined || users.length === 0) return [];
    const names = users.map(one => `${one.kind} ${one.name}`);
    // What a hook has created is not part of the release, and Helm takes over nothing else.
    const once = hook.tool === "Helm" ? " (once with helm upgrade --take-ownership)" : "";
    return [
      {
        ...({ severity: "warning", check: "RecreatedByHook", kind: "ServiceAccount", namespace, name } as const),
        why: `${hook.occasion} deletes and recreates it (${hook.annotation}, delete policy ${hook.deletePolicy}). The running pods of ${firstOf(names, 3)} are answered 401 from then on.`,
        wayOut: `Remove the hook annotations from the ServiceAccount in its chart or manifest, so that ${hook.tool} updates it in place${once}; or protect ${names[0] ?? "it"} with tokenRestart.`,
      },
    ];
  });
}

/** The kubelet tries again every two minutes or sooner. */
const RECENT_MS = 600_000;

/** Pods for which the kubelet gets no token. A pod without a ServiceAccount has another finding. */
export function failedTokens({ pods = [], accounts, tokenFailures = [], nowMs }: AuditFacts): Finding[] {
  return pods.filter(isActive).flatMap(pod => {
    const { namespace, name, uid, phase } = pod;
    const failures = tokenFailures.filter(one => one.podUID === uid && nowMs - one.lastMs < RECENT_MS);
    const last = failures.toSorted((a, b) => b.lastMs - a.lastMs).at(0);
    const isMissing = accounts !== undefined && accountOf(pod, accounts) === undefined;
    if (last === undefined || isMissing) return [];
    const effect = phase === "Running" ? "The token that it has expires, or has expired already" : "It cannot start";
    const cause = last.isDenied ? "the API server denies it" : "the request fails";
    const why = `the kubelet asks for its token and gets none: ${cause}, last ${formatDuration(nowMs - last.lastMs)} ago. ${effect}.`;
    const wayOut =
      "Find the policy or webhook for serviceaccounts/token, or the pod that was forced to be deleted. Its Events have the reason:";
    const command = describePod(pod);
    return [{ severity: "critical", check: "FailedToken", kind: "Pod", namespace, name, why, wayOut, command }];
  });
}

/** What to do, with its command. */
type WayOut = Pick<Finding, "wayOut" | "command">;

/** A deletion may end what no owner replaces, count as a failure of a Job, or upgrade (OnDelete): an audit prints only commands that read. */
const RESTART = "restart it if its owner replaces it";

/** What to do about a pod whose token is not valid, in the same words for every check. @param condition when to do it, such as `If it is late,` */
function restartPod(pod: PodView, condition?: string): WayOut {
  const restart = `${RESTART}, or let tokenRestart do it. Look first:`;
  return { wayOut: capitalize([condition, restart].filter(Boolean).join(" ")), command: describePod(pod) };
}

/** What to do about a pod whose ServiceAccount does not exist: tokenRestart cannot help before that is mended. */
function createAccount(pod: PodView): WayOut {
  return { wayOut: `Create the ServiceAccount, then ${RESTART}. Look first:`, command: describePod(pod) };
}

function describePod({ namespace, name }: PodView): string {
  return `kubectl describe pod ${name} -n ${namespace}`;
}

/** Fewer 403s can be a probe for a right, which many clients send when they start. */
const FORBIDDEN_FROM = 3;

/** Controllers that the API server answers 401 or 403 now, as their logs say. */
export function rejectedNow(facts: AuditFacts): Finding[] {
  const { logs = [], accounts, nowMs } = facts;
  const isBound = boundOf(facts);
  return logs.flatMap(log => [
    ...unauthorized(log, accounts),
    ...forbidden(log, { nowMs, isUnbound: isBound(log.pod) === false }),
  ]);
}

function unauthorized(log: LogFacts, accounts: AuditFacts["accounts"]): Finding[] {
  const { pod, container, unauthorized, occasions, needed } = log;
  if (unauthorized === "none") return [];
  const isPersistent = unauthorized === "persistent";
  const few = occasions < needed ? ", too few to be sure" : ", not yet for long enough to be sure";
  // Of a pod with an old token OldToken says it.
  const doubt = isOlder(pod, accountOf(pod, accounts)) ? "" : few;
  return [
    {
      ...({ check: "RejectedNow", kind: "Pod", namespace: pod.namespace, name: pod.name } as const),
      severity: isPersistent ? "critical" : "warning",
      why: `the log of container ${container} shows ${count(occasions, "occasion")} of 401${isPersistent ? ", which persist" : doubt}.`,
      ...wayOutOf(log, accounts),
    },
  ];
}

/** As the other checks say it of a pod whose ServiceAccount is younger or missing. */
function wayOutOf({ pod, unauthorized }: LogFacts, accounts: AuditFacts["accounts"]): WayOut {
  const account = accountOf(pod, accounts);
  if (accounts !== undefined && account === undefined) return createAccount(pod);
  if (unauthorized === "persistent" || isOlder(pod, account)) return restartPod(pod);
  return { wayOut: "Look again in some minutes; tokenRestart does that and acts when they persist." };
}

function accountOf(pod: PodView, accounts: AuditFacts["accounts"]): ServiceAccountView | undefined {
  return accounts?.find(one => one.namespace === pod.namespace && one.name === pod.serviceAccountName);
}

function isOlder(pod: PodView, account: ServiceAccountView | undefined): boolean {
  return account !== undefined && pod.createdAtMs < account.createdAtMs;
}

function forbidden(
  { pod, container, forbidden, lastForbiddenMs }: LogFacts,
  { nowMs, isUnbound }: { readonly nowMs: number; readonly isUnbound: boolean },
): Finding[] {
  if (forbidden < FORBIDDEN_FROM) return [];
  const last = lastForbiddenMs === undefined ? "" : `, the last ${formatDuration(nowMs - lastForbiddenMs)} ago`;
  return [
    {
      ...({ check: "ForbiddenNow", kind: "Pod", namespace: pod.namespace, name: pod.name } as const),
      severity: "warning",
      why: `the log of container ${container} shows ${forbidden} answers 403${last}: ServiceAccount ${pod.serviceAccountName} lacks a right${isUnbound ? ": no ClusterRoleBinding names it, nor a RoleBinding here" : ""}.`,
      wayOut: "Grant it, or look for an expired binding. The log says which right it is:",
      command: `kubectl logs ${pod.name} -n ${pod.namespace} -c ${container} --tail=50`,
    },
  ];
}

/** Workloads that use the API and that no ControllerResilience protects; not the operator, which ends when its token is rejected, and has alerts. */
export function unprotected({ coverage = [], objects, clusterObjects }: AuditFacts): Finding[] {
  if (objects === undefined || clusterObjects === undefined) return [];
  const others = coverage.filter(({ namespace, ownNamespace }) => namespace.name !== ownNamespace);
  return others.flatMap(facts =>
    protectionsOf(facts, planNamespace(facts))
      .filter(({ protection }) => protection === "unprotected")
      .map(({ workload, reason }) => {
        const [namespace = "", kind = "", name = ""] = workload.split("/");
        const isInstalled = facts.clusterObjects.length > 0;
        return {
          ...({ severity: "notice", check: "Unprotected", kind, namespace, name } as const),
          why: `it uses the API, and no ControllerResilience protects it${isInstalled ? ` (${reason})` : ""}: if its token dies, it stays Running and Ready.`,
          wayOut: "Protect it with a ControllerResilience, in mode Observe first (docs/examples/first-object.yaml).",
        };
      }),
  );
}

const DAY_MS = 86_400_000;

/** The postmortem's binding expired on a weekend: a week is the least time in which a person surely looks. */
const CRITICAL_MS = 7 * DAY_MS;
const WARNING_MS = 30 * DAY_MS;

/** Bindings that the operator does not renew, or has not renewed in time, by the time that is left, in every convention. */
export function expiringBindings({ bindings = [], objects, leads = true, nowMs }: AuditFacts): Finding[] {
  const renewed = new Set(
    (objects ?? [])
      .filter(object => modeOf(object) === "Enforce" && !object.spec.suspend && !isBeingDeleted(object))
      .flatMap(({ metadata, status }) =>
        (status?.bindings ?? [])
          .filter(({ state, renewTime = "" }) => isRenewed(state) && Date.parse(renewTime) > nowMs)
          .map(({ kind, name }) => `${kind}/${kind === "RoleBinding" ? metadata.namespace : ""}/${name}`),
      ),
  );
  return bindings.flatMap(binding => {
    const { kind, namespace, name } = binding;
    const isDeserted = renewed.has(`${kind}/${namespace}/${name}`);
    if (isDeserted && leads) return [];
    const { earliest, malformed } = readExpiry(binding);
    const known = { nowMs, isRenewalKnown: objects !== undefined, isDeserted };
    if (earliest !== undefined) return [expiring(binding, earliest, known)];
    return malformed.slice(0, 1).map(({ key, expected }) => ({
      ...base(binding),
      severity: "notice" as const,
      why: `its ${key} cannot be read, so it is unknown when it expires; expected ${expected}.`,
      wayOut: `Correct or remove ${key}.`,
      rank: Infinity,
    }));
  });
}

/** What is known besides a binding. */
interface Known extends Pick<AuditFacts, "nowMs"> {
  readonly isRenewalKnown: boolean;
  /** The operator would renew it, if one led. */
  readonly isDeserted: boolean;
}

function expiring(
  binding: BindingView,
  { atMs, convention }: NonNullable<Expiry["earliest"]>,
  { nowMs, isRenewalKnown, isDeserted }: Known,
): Finding {
  const leftMs = atMs - nowMs;
  // The annotation only says that the operator leaves it alone: a person may let it expire, or may have forgotten it.
  const skipped = binding.skip ? "it may expire: it has the skip annotation" : undefined;
  const isUnknown = !isRenewalKnown && leftMs > 0;
  const doubt = skipped ?? (isUnknown ? "the operator does: which bindings it renews could not be read" : undefined);
  const accounts = binding.subjects.slice(0, 2).map(describeSubject);
  const [when, then, wayOut] =
    leftMs <= 0
      ? [`expired ${formatDuration(-leftMs)} ago`, "once it is deleted, ", "Set a later expiry, or delete the binding."]
      : [`expires in ${formatDuration(leftMs)}`, "", extend(doubt)];
  return {
    ...base(binding),
    severity: doubt === undefined ? severityOf(leftMs) : "notice",
    why: `${when} (${convention.key}): ${then}${accounts.join(", ") || "no subject"} ${then === "" ? "then " : ""}loses ${binding.roleRef.kind} ${binding.roleRef.name}${isDeserted ? ", since no replica of the operator leads" : ""}.`,
    wayOut,
    rank: atMs,
  };
}

function extend(doubt: string | undefined): string {
  const unless = doubt === undefined ? "; bindingRenewal can do that for a controller" : `, unless ${doubt}`;
  return `Extend it where it is defined if that access is still needed${unless}.`;
}

function base({ kind, namespace, name }: BindingView): Pick<Finding, "check" | "kind" | "namespace" | "name"> {
  return { check: "ExpiringBinding", kind, namespace, name };
}

function severityOf(leftMs: number): Severity {
  if (leftMs < CRITICAL_MS) return "critical";
  return leftMs < WARNING_MS ? "warning" : "notice";
}
