import type { BindingStatus } from "../../api/controller-resilience";
import { splitKey } from "../../core/key";
import type { StatusOwner } from "../../core/ports";
import type { GaugeSample, StatusGauge } from "../../core/remedy";

const LABELS = ["namespace", "name", "binding_kind", "binding"] as const;

/** When each binding expires, in the order of status. */
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

/** The gauges of bindings. None of a binding that is already gone: it needs no alert. */
export const BINDING_GAUGES: readonly StatusGauge[] = [EXPIRY, RENEWAL];

function timesOf(
  key: string,
  { bindings = [] }: StatusOwner["status"],
  field: keyof Pick<BindingStatus, "expiryTime" | "renewTime">,
): GaugeSample[] {
  return bindings.flatMap(({ kind, name: binding, state, [field]: time }) => {
    const value = Date.parse(time ?? "") / 1000;
    if (Number.isNaN(value) || state === "Revoked" || state === "Expired") return [];
    return [{ labels: { ...splitKey(key), binding_kind: kind, binding }, value }];
  });
}
