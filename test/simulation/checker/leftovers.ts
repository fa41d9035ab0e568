import type { Obj } from "../server/objects";
import { Lasting } from "./lasting";
import type { Report, Sight } from "./sight";

// Promise 8: what belongs to an object that is gone goes, and an object that is being deleted goes as well.

const MINUTE = 60_000;

const LOOK_MS = 30_000;

/** A full pass each minute, and every ten minutes one from lists (docs/architecture.md). */
const PASS_MS = 12 * MINUTE;

const OWNER = "controller-resilience.io/owner-uid";
const GENERATED_FOR = "controller-resilience.io/generated-for";

/** Looks at what has no owner. */
export function checkLeftovers(sight: Sight, report: Report): void {
  const lasting = new Lasting(sight, report, { promise: 8, mostMs: PASS_MS });
  sight.clock.every(LOOK_MS, () => {
    for (const { key, sentence } of leftovers(sight)) lasting.note(key, sentence, sight.calmSinceMs());
    lasting.forget();
  });
}

type Left = Generator<{ readonly key: string; readonly sentence: string }>;

function* leftovers(sight: Sight): Left {
  const schemas = sight.store.list("flowschemas").filter(isManaged);
  for (const { metadata } of schemas)
    if (!hasOwner(sight, metadata.labels?.[OWNER]))
      yield { key: `schema ${metadata.name}`, sentence: `FlowSchema ${metadata.name} is left of a deleted object` };
  const levels = schemas.length > 0 ? [] : sight.store.list("prioritylevelconfigurations").filter(isManaged);
  for (const { metadata } of levels)
    yield { key: `level ${metadata.name}`, sentence: `no FlowSchema needs the level ${metadata.name}, which is left` };
  for (const object of sight.store.list("controllerresiliences")) yield* leftObject(sight, object);
  yield* openTrials(sight);
}

function* leftObject({ store }: Sight, { metadata }: Obj): Left {
  const { namespace = "", name, labels, deletionTimestamp, uid } = metadata;
  const maker = labels?.[GENERATED_FOR];
  const isOrphan = maker !== undefined && store.get("clustercontrollerresiliences", undefined, maker) === undefined;
  if (isOrphan) yield { key: `made ${uid}`, sentence: `${namespace}/${name} is left of a deleted ${maker}` };
  if (deletionTimestamp !== undefined) yield { key: `ends ${uid}`, sentence: `${namespace}/${name} is being deleted` };
}

/** An abandoned trial: OnDelete would hold every update of the template. */
function* openTrials(sight: Sight): Left {
  for (const { metadata } of trialsOf(sight)) {
    const { namespace = "", name } = metadata;
    const objects = sight.store.list("controllerresiliences", namespace);
    const isKept = objects.some(({ spec }) => spec?.["tokenLifetime"] !== undefined);
    if (!isKept) yield { key: `trial ${metadata.uid}`, sentence: `the trial of ${namespace}/${name} is left open` };
  }
}

/** The DaemonSets with an OnDelete that is not their own. */
export function trialsOf({ store, plan }: Sight): readonly Obj[] {
  return store.list("daemonsets").filter(({ metadata: { namespace, name }, spec }) => {
    const planned = plan.workloads.find(one => one.namespace === namespace && one.name === name);
    const isOnDelete = spec?.updateStrategy?.type === "OnDelete";
    return planned !== undefined && planned.updateStrategy === undefined && isOnDelete;
  });
}

function isManaged({ metadata }: Obj): boolean {
  return metadata.labels?.["app.kubernetes.io/managed-by"] === "controller-resilience";
}

function hasOwner({ store }: Sight, uid: string | undefined): boolean {
  return store.list("controllerresiliences").some(({ metadata }) => metadata.uid === uid);
}
