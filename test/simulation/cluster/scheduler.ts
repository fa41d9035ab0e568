import { type Condition, isReady, type Obj } from "../server/objects";
import { Agenda, type Ground, nodeOf, setCondition, suits } from "./ground";

/** How long the scheduler takes, in milliseconds. */
const LAG_MS = [20, 400] as const;

/** Pods that fit nowhere are looked at again this often, in milliseconds. */
const RETRY_MS = 15_000;

/** Pods that a node has room for, unless it says otherwise. */
const ROOM = 110;

/** Binds pods to nodes: the one with the fewest pods that is Ready, schedulable and has the wanted labels. */
export class Scheduler {
  readonly #agenda: Agenda;

  constructor(private readonly ground: Ground) {
    this.#agenda = new Agenda(ground.clock, () => this.#bindAll());
    ground.store.subscribe("pods", ({ type, object }) => {
      if (type === "DELETED" || isWaiting(object)) this.#soon();
    });
    ground.store.subscribe("nodes", () => this.#soon());
  }

  /** Looks at all pods again. */
  catchUp(): void {
    this.#soon();
  }

  #soon(): void {
    this.#agenda.add("all", this.ground.dice.between(...LAG_MS));
  }

  #bindAll(): void {
    const { store } = this.ground;
    const waiting = store.list("pods").filter(isWaiting);
    if (waiting.length === 0) return;
    const counts = new Map<string, number>();
    for (const pod of store.list("pods")) counts.set(nodeOf(pod), (counts.get(nodeOf(pod)) ?? 0) + 1);
    let isStuck = false;
    for (const pod of waiting) {
      const node = this.#choose(pod, counts);
      if (node === undefined) isStuck = true;
      else counts.set(node, (counts.get(node) ?? 0) + 1);
      this.#write(pod, node);
    }
    if (isStuck) this.#agenda.add("all", RETRY_MS);
  }

  #choose(pod: Obj, counts: ReadonlyMap<string, number>): string | undefined {
    const fitting = this.ground.store
      .list("nodes")
      .filter(node => node.spec?.unschedulable !== true && isReady(node) && suits(node, pod.spec!))
      .map(node => ({
        name: node.metadata.name,
        room: Number(node.status?.allocatable?.pods ?? ROOM) - (counts.get(node.metadata.name) ?? 0),
      }))
      .filter(({ room }) => room > 0);
    return fitting.sort((a, b) => b.room - a.room)[0]?.name;
  }

  #write({ metadata }: Obj, node: string | undefined): void {
    const { store } = this.ground;
    const condition: Condition =
      node === undefined
        ? { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0 nodes are available" }
        : { type: "PodScheduled", status: "True" };
    store.update("pods", metadata.namespace, metadata.name, draft => {
      if (node !== undefined) draft.spec!.nodeName = node;
      setCondition(draft, condition, store.time());
    });
  }
}

/** A pod that runs without a node runs outside of this cluster, such as the operator itself. */
function isWaiting(pod: Obj): boolean {
  return nodeOf(pod) === "" && pod.status?.phase !== "Running" && pod.metadata.deletionTimestamp === undefined;
}
