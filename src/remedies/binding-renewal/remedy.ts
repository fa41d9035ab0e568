import { ConditionType } from "../../api/conditions";
import type { BindingStatus } from "../../api/controller-resilience";
import type { Permission } from "../../core/intent";
import { splitKey } from "../../core/text";
import type { GaugeSample, StatusOwner } from "../../core/metrics";
import { defineRemedy, type Remedy, type StatusGauge } from "../../core/remedy";
import { TARGET_RIGHTS } from "../kit/targets";
import { isFinal, observeBindings } from "./observe";
import { planBindings, reportBindings } from "./plan";
import { REASONS } from "./reasons";

const RBAC_GROUP = "rbac.authorization.k8s.io";

/** Without `bind`, which every change of a binding needs on its role: an installer grants it role by role, by name. */
const PERMISSIONS: readonly Permission[] = [
  ...["rolebindings", "clusterrolebindings"].flatMap(resource => [
    { apiGroup: RBAC_GROUP, resource, verbs: ["get", "list", "watch"], why: "Sees which bindings expire." },
    { apiGroup: RBAC_GROUP, resource, verbs: ["patch"], why: "Renews a binding.", grantedBy: "bindingRenewal.bind" },
  ]),
  ...TARGET_RIGHTS,
];

const LABELS = ["namespace", "name", "binding_kind", "binding"] as const;

/** In the order of status, without bindings that are gone or may expire: they need no alert. */
const EXPIRY: StatusGauge = {
  name: "binding_expiry_timestamp_seconds",
  help: "When a binding expires, in seconds since the epoch.",
  labels: LABELS,
  samples: (key, { status }) => timesOf(key, status, "expiryTime"),
};

/** Without a sample, or with one that is long past, the binding is not renewed. */
const RENEWAL: StatusGauge = {
  name: "binding_renewal_timestamp_seconds",
  help: "When the operator renews a binding, in seconds since the epoch. No series: it does not renew it.",
  labels: LABELS,
  samples: (key, { spec, status }) => (spec.suspend ? [] : timesOf(key, status, "renewTime")),
};

function timesOf(
  key: string,
  { bindings = [] }: StatusOwner["status"],
  field: keyof Pick<BindingStatus, "expiryTime" | "renewTime">,
): GaugeSample[] {
  return bindings.flatMap(binding => {
    const value = Date.parse(binding[field] ?? "") / 1000;
    if (Number.isNaN(value) || isFinal(binding) || binding.state === "Skipped") return [];
    return [{ labels: { ...splitKey(key), binding_kind: binding.kind, binding: binding.name }, value }];
  });
}

/** Renews RoleBindings and ClusterRoleBindings before they expire, in the convention that they use. */
export function createBindingRenewal(): Remedy<"bindingRenewal"> {
  return defineRemedy({
    name: "binding-renewal",
    block: "bindingRenewal",
    condition: ConditionType.BindingsCurrent,
    reasons: REASONS,
    owns: "bindings",
    permissions: PERMISSIONS,
    gauges: [EXPIRY, RENEWAL],
    observe: observeBindings,
    plan: planBindings,
    report: reportBindings,
  });
}
