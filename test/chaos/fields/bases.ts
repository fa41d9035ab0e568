import type { JsonObject } from "../../../src/core/json";
import { BINDINGS, LABEL, WORKLOADS } from "./world";

/** A spec in which one field after the other is changed. */
export interface Base {
  readonly name: string;
  readonly spec: JsonObject;
  /** Fields with values that do not all fit the rest of this spec. */
  readonly conflicts: readonly string[];
}

const WEB = { kind: "Deployment", name: WORKLOADS.Deployment };

/** Together they have a place for every field, and cover both ways in which each remedy works. */
export const bases: readonly Base[] = [
  {
    name: "named",
    spec: {
      targets: [{ kind: "DaemonSet", name: WORKLOADS.DaemonSet }, WEB],
      tokenRestart: {},
      bindingRenewal: { warnBefore: "8760h", renewBefore: "1s" },
      tokenLifetime: { windows: [{ schedule: "* * * * *", duration: "10m" }] },
      flowIsolation: {},
      stallDetection: {},
    },
    conflicts: [],
  },
  {
    name: "selected",
    spec: {
      targets: [
        {
          kind: "DaemonSet",
          selector: {
            matchLabels: { [LABEL.key]: LABEL.value },
            matchExpressions: [{ key: LABEL.key, operator: "In", values: [LABEL.value] }],
          },
        },
        WEB,
      ],
      tokenRestart: {},
      // Due at once: the binding expires in seven hours, and a renewal comes eight hours before the expiry.
      bindingRenewal: {
        bindings: [{ kind: "RoleBinding", name: Object.keys(BINDINGS)[0] }],
        warnBefore: "8760h",
        renewBefore: "8h",
        extendBy: "720h",
      },
      tokenLifetime: { expirationSeconds: 1_200 },
      flowIsolation: { requestRate: { onRunaway: "Throttle" } },
      stallDetection: { onStall: "Restart", leases: [{ namespace: "kube-system", name: "web" }] },
    },
    conflicts: ["bindingRenewal.warnBefore"],
  },
];
