import type { ControllerResilience, DaemonSetStatus } from "../../../api/controller-resilience";
import type { Intent } from "../../../core/intent";
import type { Readers } from "../../../core/readers";
import { readTarget } from "../../kit/targets";
import { holderOf, otherObjects } from "../../kit/holder";
import { buildRelease } from "../intents";
import type { Observed, ObservedDaemonSet } from "../observed";
import { isOnTrial } from "./strategy";

const WHY = "The trial ends, because the object does not ask for shorter tokens any more.";

/** DaemonSets on trial that are no target any more. */
export async function readFormerTrials(
  namespace: string,
  former: readonly DaemonSetStatus[],
  readers: Readers,
): Promise<Observed["formerTrials"]> {
  const names = former.filter(({ outcome }) => outcome === "Trial").map(({ name }) => name);
  return readTrials(namespace, names, former, readers);
}

/** Restores a former target. */
export function buildTrialEnd(daemonSet: Observed["formerTrials"][number]): Intent {
  return buildRelease(daemonSet, WHY);
}

/** Ends the trials of an object that is being deleted or has no tokenLifetime block any more: OnDelete would hold up all updates. */
export async function endTrials(object: ControllerResilience, readers: Readers): Promise<Intent[]> {
  const { namespace } = object.metadata;
  const records = object.status?.daemonSets ?? [];
  const names = new Set(records.map(({ name }) => name));
  // Status may have been written without the list.
  for (const target of object.spec.targets.filter(({ kind }) => kind === "DaemonSet")) {
    for (const { name } of await readTarget(target, namespace, readers)) names.add(name);
  }
  const trials = await readTrials(namespace, [...names], records, readers);
  if (trials.length === 0) return [];
  const others = await otherObjects(object, readers)();
  return trials.filter(({ view }) => holderOf(view, object, others) === undefined).map(buildTrialEnd);
}

async function readTrials(
  namespace: string,
  names: readonly string[],
  records: readonly DaemonSetStatus[],
  readers: Readers,
): Promise<Pick<ObservedDaemonSet, "view" | "record">[]> {
  const found: Pick<ObservedDaemonSet, "view" | "record">[] = [];
  for (const name of names) {
    const view = await readers.daemonSet(namespace, name);
    const record = records.find(one => one.name === name);
    if (view !== null && isOnTrial(view)) found.push({ view, ...(record && { record }) });
  }
  return found;
}
