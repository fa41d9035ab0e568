import { splitKey } from "../../core/key";
import type { StatusGauge } from "../../core/remedy";

/** The last measured rate of each flow. Objects of a namespace that isolate the same ServiceAccount share a series. */
export const RATE: StatusGauge = {
  name: "service_account_requests_per_second",
  help: "Last measured request rate of an isolated ServiceAccount.",
  labels: ["namespace", "service_account"],
  samples: (key, { flows = [] }) =>
    flows.flatMap(({ serviceAccount, requestsPerSecond: value }) =>
      value === undefined
        ? []
        : [{ labels: { namespace: splitKey(key).namespace, service_account: serviceAccount }, value }],
    ),
};
