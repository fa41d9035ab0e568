import type { V1Lease } from "@kubernetes/client-node";
import { objectOf, textOf } from "../../core/json";
import type { LeaseView } from "../../core/leases";
import { identityOf } from "./identity";
import { present, type Received } from "./received";

/** Returns the view of a Lease; null without uid, name or creation time. */
export function leaseView(raw: unknown): LeaseView | null {
  const { metadata, spec } = objectOf(raw) as Received<V1Lease>;
  const identity = identityOf(metadata);
  if (identity === null) return null;
  const { namespace, name, uid, resourceVersion } = identity;
  const seconds = spec?.leaseDurationSeconds;
  return {
    ...{ namespace, name, uid, resourceVersion, holder: textOf(spec?.holderIdentity) ?? "" },
    ...present({
      durationMs: typeof seconds === "number" && seconds > 0 ? seconds * 1_000 : undefined,
      acquired: textOf(spec?.acquireTime),
      renewed: textOf(spec?.renewTime),
    }),
  };
}
