import type { CacheMetrics, CounterName } from "../../src/core/metrics";
import type { Log } from "../../src/core/ports";

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
    watchAge: () => undefined,
  };
}
