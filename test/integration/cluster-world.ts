import { Connection } from "../../src/cluster/http/connection";
import { loadKubeConfigFile } from "../../src/cluster/testing/kubeconfig";
import { systemClock } from "../../src/cluster/system";
import type { CacheMetrics, CounterName } from "../../src/core/metrics";
import type { Log } from "../../src/core/ports";
import { Admin as ClusterAdmin } from "../cluster/admin";
import { suiteLab } from "./suite-lab";

export { eventually, options } from "../cluster/admin";

/** A connection with an administrator's rights. */
function adminConnection(): Connection {
  return new Connection(() => loadKubeConfigFile(suiteLab().kubeconfigPath), systemClock);
}

/** Writes and reads as an administrator. */
export class Admin extends ClusterAdmin {
  constructor(connection = adminConnection()) {
    super(connection);
  }
}

/** A logger that keeps warnings and errors. */
export function keepingLog(): Log & { readonly kept: { fields: object; message: string }[] } {
  const kept: { fields: object; message: string }[] = [];
  const keep = (fields: object, message: string): void => void kept.push({ fields, message });
  const log = { debug: () => undefined, info: () => undefined, warn: keep, error: keep, child: () => log, kept };
  return log;
}

/** Metrics that keep the results of log reads. */
export function keepingMetrics(): CacheMetrics & { readonly counted: string[] } {
  const counted: string[] = [];
  return {
    counted,
    count: (name: CounterName, { result = "" }: { readonly result?: string }) =>
      void (name === "log_reads_total" && counted.push(`log ${result}`)),
    show: () => undefined,
    watchAges: () => undefined,
  };
}
