import type { StallStatus } from "../../api/controller-resilience";
import { splitKey } from "../../core/key";
import type { StatusGauge } from "../../core/remedy";

/** Stalled controllers by workload and evidence, as in status. */
export const STALLED: StatusGauge = {
  name: "stalled_controllers",
  help: "Pieces of evidence that a workload is stalled, by kind of evidence. No series: none.",
  labels: ["namespace", "name", "workload", "evidence"],
  samples: (key, { status: { stalls = [] } }) => {
    const counts = new Map<string, { readonly stall: StallStatus; readonly value: number }>();
    for (const stall of stalls) {
      const id = `${stall.workload} ${stall.evidence}`;
      counts.set(id, { stall, value: (counts.get(id)?.value ?? 0) + 1 });
    }
    return Array.from(counts.values(), ({ stall: { workload, evidence }, value }) => {
      return { labels: { ...splitKey(key), workload, evidence }, value };
    });
  },
};
