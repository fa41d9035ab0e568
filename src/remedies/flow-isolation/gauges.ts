import type { FlowStatus } from "../../api/controller-resilience";
import { splitKey } from "../../core/key";
import type { StatusOwner } from "../../core/ports";
import type { GaugeSample, StatusGauge } from "../../core/remedy";

const LABELS = ["namespace", "service_account"] as const;

/** The last measured rate of each flow; none while it is not measured. */
const RATE: StatusGauge = {
  name: "service_account_requests_per_second",
  help: "Last measured request rate of an isolated ServiceAccount.",
  labels: LABELS,
  samples: (key, { spec, status }) =>
    spec.suspend ? [] : perFlow(key, status, ({ requestsPerSecond }) => requestsPerSecond),
};

const THRESHOLD: StatusGauge = {
  name: "service_account_threshold_requests_per_second",
  help: "Request rate from which an isolated ServiceAccount counts as a runaway, if it lasts.",
  labels: LABELS,
  samples: (key, { spec, status }) => perFlow(key, status, () => spec.flowIsolation?.requestRate.threshold),
};

const THROTTLED: StatusGauge = {
  name: "service_account_throttled",
  help: "1 while an isolated ServiceAccount is throttled, else 0.",
  labels: LABELS,
  samples: (key, { status }) => perFlow(key, status, ({ state }) => (state === "Throttled" ? 1 : 0)),
};

/** The gauges of flows. Objects of a namespace that isolate the same ServiceAccount share a series. */
export const FLOW_GAUGES: readonly StatusGauge[] = [RATE, THRESHOLD, THROTTLED];

function perFlow(
  key: string,
  { flows = [] }: StatusOwner["status"],
  valueOf: (flow: FlowStatus) => number | undefined,
): GaugeSample[] {
  const { namespace } = splitKey(key);
  return flows.flatMap(flow => {
    const value = valueOf(flow);
    return value === undefined ? [] : [{ labels: { namespace, service_account: flow.serviceAccount }, value }];
  });
}
