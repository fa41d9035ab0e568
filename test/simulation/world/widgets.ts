import type { WorkloadPlan } from "../cluster/install";
import { isProgressing, WIDGETS, WORKERS } from "../programs/widgets";
import type { NewObj } from "../server/objects";
import type { Dice } from "../time";
import type { Kinds } from "./kind";
import { edit, remove } from "./people";
import { habit } from "./tools";
import type { World } from "./world";

// Objects of a kind that a program handles: who creates and changes them, and what happens to them.

/** So many per program. */
const COUNT = 8;

/** What a cluster administrator makes, so that the operator may read the kind. */
const READER = { resource: "clusterroles", name: "widgets-for-progress" };

/** The kind with the right to read it, unless they are there, and the objects of one program. */
export function installWidgets(
  { cluster, store }: Pick<World, "cluster" | "store">,
  workload: WorkloadPlan,
  dice: Dice,
): void {
  const { namespace, name, program, changesEveryMinutes } = workload;
  if (store.get("customresourcedefinitions", undefined, WIDGETS.metadata.name) === undefined) {
    store.create("customresourcedefinitions", WIDGETS as NewObj);
    const labels = { "controller-resilience.io/aggregate-to-progress": "true" };
    const rules = [{ apiGroups: ["example.com"], resources: ["widgets"], verbs: ["get", "list"] }];
    store.create(READER.resource, { metadata: { name: READER.name, labels }, rules });
  }
  const count = program === "widgets-hanging" ? WORKERS : COUNT;
  const names = Array.from({ length: count }, (_, at) => `${name}-${at}`);
  for (const one of names.filter(widget => store.get("widgets", namespace, widget) === undefined))
    store.create("widgets", { metadata: { namespace, name: one, labels: { app: name } }, spec: { color: "blue" } });
  if (changesEveryMinutes === undefined) return;
  let changes = 0;
  habit(cluster, { everyMs: 60_000 * changesEveryMinutes, dice }, () => {
    changes++;
    // As a tool does that waits until the last change is done.
    for (const one of names)
      if (dice.chance(0.7) && !isProgressing(store.get("widgets", namespace, one)))
        edit(cluster, { resource: "widgets", namespace, name: one }, draft => {
          draft.spec!["color"] = `color-${changes}`;
        });
  });
}

/** What a page of metrics may be instead. */
const PAGES = [
  "<html><body>Sign in</body></html>",
  "x".repeat(3_000_000),
  'workqueue_depth{name="widget" 1\n{}}\n',
  null,
];

/** All that happens to them. */
export const WORK: Kinds = {
  "widgets-paused": {
    ...{ on: "workload", lasts: [10, 60] },
    says: "Someone pauses half of the Widgets of %, and changes them.",
    begin: ({ cluster, store }, { ref: { namespace, name } }) => {
      const set = (paused: boolean): void => {
        for (const widget of store
          .list("widgets", namespace)
          .filter(({ metadata }) => metadata.labels?.["app"] === name))
          if (Number(widget.metadata.name.slice(-1)) % 2 === 0)
            edit(cluster, { resource: "widgets", ...widget.metadata }, draft => {
              draft.spec!.paused = paused;
            });
      };
      set(true);
      return () => set(false);
    },
  },
  "progress-right-gone": {
    ...{ lasts: [5, 30] },
    says: "Someone deletes the ClusterRole that lets the operator read Widgets.",
    begin: ({ cluster }) => remove(cluster, READER),
  },
  "metrics-odd": {
    ...{ on: "workload", lasts: [5, 40], amount: dice => dice.int(PAGES.length) },
    says: amount => `The metrics of % are ${["HTML", "endless", "malformed", "silent"][amount] ?? "odd"}.`,
    begin: ({ oddPages }, { on, amount }) => {
      oddPages.set(on, PAGES[amount]!);
      return () => void oddPages.delete(on);
    },
  },
};
