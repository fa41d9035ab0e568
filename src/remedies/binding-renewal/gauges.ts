import { splitKey } from "../../core/key";
import type { StatusGauge } from "../../core/remedy";

/** When each binding expires, in the order of status. None of a binding that is already gone: it needs no alert. */
export const EXPIRY: StatusGauge = {
  name: "binding_expiry_timestamp_seconds",
  help: "When a binding under renewal expires, in seconds since the epoch.",
  labels: ["namespace", "name", "binding_kind", "binding"],
  samples: (key, { bindings = [] }) =>
    bindings.flatMap(({ kind, name: binding, expiryTime, state }) => {
      const value = Date.parse(expiryTime ?? "") / 1000;
      if (Number.isNaN(value) || state === "Revoked" || state === "Expired") return [];
      return [{ labels: { ...splitKey(key), binding_kind: kind, binding }, value }];
    }),
};
