import { firstOf } from "../../../../core/text";
import { formatDuration } from "../../../../core/time";
import { capitalize } from "../../../../core/remedy";
import { describeRecreator, type PodView, type ServiceAccountView } from "../../../../core/views";
import { incidentsOf, proofIn } from "../../../../remedies/token-restart/proof";
import { apiUsers, type AuditFacts, isActive } from "../facts";
import type { Finding } from "../finding";

/** Pods whose token names a ServiceAccount that is gone. */
export function oldTokens(facts: AuditFacts): Finding[] {
  const { pods = [], accounts, logs = [], nowMs } = facts;
  if (accounts === undefined) return [];
  const byName = new Map(accounts.map(account => [`${account.namespace}/${account.name}`, account]));
  const users = apiUsers(facts);
  const rejected = new Set(logs.filter(one => one.unauthorized !== "none").map(({ pod }) => pod.uid));
  return pods.filter(isActive).flatMap(pod => {
    const key = `${pod.namespace}/${pod.serviceAccountName}`;
    const account = byName.get(key);
    if (pod.mountsToken === false) return [];
    if (account === undefined) return [missingAccount(pod)];
    return olderPod(pod, account, { nowMs, isUser: users.has(key), isRejected: rejected.has(pod.uid) });
  });
}

function olderPod(
  pod: PodView,
  account: ServiceAccountView,
  { nowMs, isUser, isRejected }: { nowMs: number; isUser: boolean; isRejected: boolean },
): Finding[] {
  // The API server keeps whole seconds, so equal times prove nothing.
  if (pod.createdAtMs >= account.createdAtMs) return [];
  const context = { spec: { evidence: ["ServiceAccountAge" as const] }, rotation: undefined, nowMs };
  const proof = proofIn(incidentsOf(pod, account, context));
  const age = formatDuration(nowMs - account.createdAtMs);
  const base = { kind: "Pod", namespace: pod.namespace, name: pod.name, check: "OldToken" } as const;
  const recreated = `its ServiceAccount ${account.name} was recreated ${age} ago${describeRecreator(account, "does it")}`;
  if (proof === undefined) {
    const why = `${recreated}, after it started. The kubelet has replaced its token since, but a client that does not read its token again is still answered 401.`;
    return isUser
      ? [{ ...base, severity: "notice", why, ...restartPod(pod, "If audit --logs shows that it is,") }]
      : [];
  }
  // As for the operator, one 401 confirms the age.
  const isSure = (proof.alone && isUser) || isRejected;
  const why = `${recreated}, so the token that it got before is not valid${isUser || isRejected ? "" : "; no role is bound to the ServiceAccount, so it may not need it"}.`;
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
  return accounts.flatMap(({ namespace, name, hook }) => {
    const users = workloads.filter(
      one => one.namespace === namespace && one.serviceAccountName === name && one.automount !== false,
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
  return pods.filter(isActive).flatMap(({ namespace, name, uid, serviceAccountName, phase }) => {
    const failures = tokenFailures.filter(one => one.podUID === uid && nowMs - one.lastMs < RECENT_MS);
    const last = failures.toSorted((a, b) => b.lastMs - a.lastMs).at(0);
    const isMissing = accounts?.some(one => one.namespace === namespace && one.name === serviceAccountName) === false;
    if (last === undefined || isMissing) return [];
    const effect = phase === "Running" ? "The token that it has expires, or has expired already" : "It cannot start";
    const cause = last.isDenied ? "the API server denies it" : "the request fails";
    const why = `the kubelet asks for its token and gets none: ${cause}, last ${formatDuration(nowMs - last.lastMs)} ago. ${effect}.`;
    const wayOut =
      "Find the policy or webhook for serviceaccounts/token, or the pod that was forced to be deleted. Its Events have the reason:";
    const command = `kubectl describe pod ${name} -n ${namespace}`;
    return [{ severity: "critical", check: "FailedToken", kind: "Pod", namespace, name, why, wayOut, command }];
  });
}

/** What to do, with its command. */
export type WayOut = Pick<Finding, "wayOut" | "command">;

/** What to do about a pod whose token is not valid, in the same words for every check. @param condition when to do it, such as `If it is late,` */
export function restartPod(pod: PodView, condition?: string): WayOut {
  const restart = "restart the pod, or let tokenRestart do it:";
  return { wayOut: capitalize([condition, restart].filter(Boolean).join(" ")), command: commandFor(pod) };
}

/** What to do about a pod whose ServiceAccount does not exist: tokenRestart cannot help before that is mended. */
export function createAccount(pod: PodView): WayOut {
  return { wayOut: "Create the ServiceAccount, then restart the pod:", command: commandFor(pod) };
}

function commandFor({ namespace, name }: PodView): string {
  return `kubectl delete pod ${name} -n ${namespace}`;
}
