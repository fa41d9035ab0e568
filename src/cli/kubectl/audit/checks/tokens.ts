import { firstOf } from "../../../../core/count";
import { formatDuration } from "../../../../core/duration";
import type { RecreatingHook } from "../../../../core/recreating-hooks";
import type { PodView, ServiceAccountView } from "../../../../core/views";
import { proveByAge } from "../../../../remedies/token-restart/service-account-age";
import { apiUsers, type AuditFacts, isActive } from "../facts";
import type { Finding } from "../finding";
import { createAccount, restartPod } from "./restart-pod";

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
  const proof = proveByAge(pod, account, nowMs);
  const age = formatDuration(nowMs - account.createdAtMs);
  const base = { kind: "Pod", namespace: pod.namespace, name: pod.name, check: "OldToken" } as const;
  const recreated = `its ServiceAccount ${account.name} was recreated ${age} ago${by(account.hook)}`;
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

function by(hook: RecreatingHook | undefined): string {
  return hook === undefined ? "" : ` (a ${hook.tool} hook does it: ${hook.annotation})`;
}

/** ServiceAccounts of workloads that a hook deletes and creates again. One that only Jobs use is created before they are. */
export function recreatedByHook({ accounts = [], workloads = [] }: AuditFacts): Finding[] {
  return accounts.flatMap(({ namespace, name, hook }) => {
    const users = workloads.filter(
      ({ view }) => view.namespace === namespace && view.serviceAccountName === name && view.automount !== false,
    );
    if (hook === undefined || users.length === 0) return [];
    const names = users.map(({ view }) => `${view.kind} ${view.name}`);
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
