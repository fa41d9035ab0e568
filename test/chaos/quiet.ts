import { setTimeout as sleep } from "node:timers/promises";
import { describeCall } from "./calls";
import type { RecordingProxy } from "./proxy";
import type { Finding } from "./suite";

/** Counts of a period in which nothing happened. */
export interface Quiet {
  readonly seconds: number;
  readonly writes: readonly string[];
  readonly leases: number;
  readonly events: number;
}

/** Waits while nothing changes, and counts the operator's requests. */
export async function leaveAlone(proxies: readonly RecordingProxy[], ms: number): Promise<Quiet> {
  // Cluster-scoped writes count for every namespace.
  for (const proxy of proxies) proxy.watch("");
  await sleep(ms);
  const count = (kind: "lease" | "event"): number =>
    proxies.reduce((sum, { others }) => sum + (others.get(kind) ?? 0), 0);
  return {
    seconds: ms / 1000,
    writes: proxies.flatMap(({ writes, strays }) => [...writes, ...strays].map(describeCall)),
    leases: count("lease"),
    events: count("event"),
  };
}

/** Formats the period as a row of the table. */
export function quietFinding(suite: string, { seconds, writes, leases, events }: Quiet): Finding {
  return {
    fault: `${suite}: idle for ${seconds} s afterwards`,
    times: 1,
    promised: "no writes except of the Lease",
    seen: `${writes.length} writes, ${leases} of the Lease, ${events} of Events`,
    failures: writes,
  };
}
