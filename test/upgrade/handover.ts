import { passesIn, type Replica, watchLeaders } from "../rig/rig";
import { until } from "../rig/scenario";
import { leads } from "../operator/process";

/** Forgets the writes of these replicas so far. */
export function forget(...replicas: readonly Replica[]): void {
  for (const { proxy } of replicas) proxy.forget();
}

/** All writes of a replica since then, beside those of its Lease and of Events. */
export function writesOf({ proxy }: Replica): string[] {
  return proxy.writes.map(({ call, namespace }) => `${call}${namespace === undefined ? "" : ` in ${namespace}`}`);
}

/** Waits until a replica leads and has reconciled that many objects. */
export async function untilLed({ operator }: Replica, objects: number): Promise<void> {
  const isDone = async (): Promise<boolean> => {
    const { text } = await operator.probe("/metrics");
    return leads(text) && passesIn(text) >= objects;
  };
  await until("the operator to lead and to have reconciled everything", isDone);
}

/** Stops the leader as a rollout does; the other takes over. Returns how often both were seen to lead. */
export async function handOver(from: Replica, to: Replica, objects: number): Promise<{ all: number; looks: number }> {
  const seen = watchLeaders([from, to]);
  try {
    await from.operator.stop();
    await untilLed(to, objects);
  } finally {
    await seen();
  }
  return seen();
}
