import type { BindingRenewalSpec, RenewalTargetStatus, TargetSelector } from "../../api/controller-resilience";
import type { WorkloadView } from "../../core/views";
import { describeTarget } from "../kit/targets";
import { hashOfTarget } from "./block";
import type { Changed } from "./observed";
import { timeOf } from "./record";

// The API server checks the rights of an object's author when the spec is written. A later change of a workload must not decide whose
// bindings are renewed, so status pins the ServiceAccounts that the targets run as at that time (docs/adr/0022).

/** A target that does not exist yet is pinned when it appears within this time: GitOps tools create objects in any order. */
const APPEARS_WITHIN_MS = 3_600_000;

/** Bytes of all pinned names; further ServiceAccounts are not pinned. */
const MAX_BYTES = 24 * 1024;

/** A target and its workloads, in the order of spec.targets. */
export interface TargetWorkloads {
  readonly target: TargetSelector;
  readonly workloads: readonly WorkloadView[];
}

/** Pins the ServiceAccounts of targets that status does not have, and keeps the others as status has them. Pure. */
export function pinTargets(
  targets: readonly TargetWorkloads[],
  spec: BindingRenewalSpec,
  recorded: readonly RenewalTargetStatus[],
  nowMs: number,
): RenewalTargetStatus[] {
  let freeBytes = MAX_BYTES;
  return targets.map(({ target, workloads }, index) => {
    const specHash = hashOfTarget(target, spec);
    const pin = recorded.find(one => one.specHash === specHash);
    const isOpen = pin === undefined || (pin.serviceAccounts.length === 0 && isRecent(pin, nowMs));
    const serviceAccounts = (isOpen ? accountsOf(workloads) : pin.serviceAccounts).filter(
      name => (freeBytes -= Buffer.byteLength(name) + 3) >= 0,
    );
    return { target: describeTarget(target, index), specHash, time: pin?.time ?? timeOf(nowMs), serviceAccounts };
  });
}

/** Workloads that run as a ServiceAccount that no target had when it was pinned, one per ServiceAccount. Pure. */
export function changedAccounts(targets: readonly TargetWorkloads[], pinned: ReadonlySet<string>): Changed[] {
  const changed = new Map<string, Changed>();
  for (const { kind, name, serviceAccountName } of targets.flatMap(({ workloads }) => workloads)) {
    if (pinned.has(serviceAccountName) || changed.has(serviceAccountName)) continue;
    changed.set(serviceAccountName, {
      workload: `${kind}/${name}`,
      serviceAccount: serviceAccountName,
      isBound: false,
    });
  }
  return [...changed.values()];
}

/** The ServiceAccounts that the workloads run as, each once. Pure. */
export function accountsOf(workloads: readonly WorkloadView[]): string[] {
  return [...new Set(workloads.map(({ serviceAccountName }) => serviceAccountName))].toSorted();
}

function isRecent({ time }: RenewalTargetStatus, nowMs: number): boolean {
  return nowMs - Date.parse(time) <= APPEARS_WITHIN_MS;
}
