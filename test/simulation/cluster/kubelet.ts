import type { Obj } from "../server/objects";
import type { Change } from "../server/store";
import type { Dice } from "../time";
import { type Ground, nodeOf } from "./ground";
import { type Machine, PodRun } from "./pod-run";
import type { Tokens } from "./tokens";

/** The kubelets of all nodes. */
export class Kubelets {
  readonly #machines = new Map<string, Machine>();
  readonly #runs = new Map<string, PodRun>();
  readonly #dice: Dice;

  constructor(
    private readonly ground: Ground,
    private readonly tokens: Tokens,
  ) {
    this.#dice = ground.dice.fork("kubelets");
    ground.store.subscribe("pods", change => this.#follow(change));
  }

  /** Every pod that runs, or is about to, by uid. */
  get runs(): ReadonlyMap<string, PodRun> {
    return this.#runs;
  }

  machine(node: string): Machine | undefined {
    return this.#machines.get(node);
  }

  /** A machine joins the cluster. */
  join(name: string): void {
    this.#machines.set(name, { name, cni: { credential: undefined }, clockOffsetMs: 0, isUp: true });
  }

  /** A machine is switched off for ever. */
  leave(name: string): void {
    this.#machines.delete(name);
    for (const [uid, run] of this.#runs) if (nodeOf(run.pod) === name) this.#end(uid);
  }

  /** The kubelet does not answer any more, and its pods reach no API server either. */
  lose(name: string): void {
    const machine = this.#machines.get(name);
    if (machine !== undefined) machine.isUp = false;
  }

  /** The kubelet is back, and catches up. */
  regain(name: string): void {
    const machine = this.#machines.get(name);
    if (machine === undefined) return;
    machine.isUp = true;
    this.catchUp(name);
  }

  /** Looks at all pods of a node, or of all: also after a restore from a backup. */
  catchUp(node?: string): void {
    for (const [uid, run] of this.#runs) {
      const { namespace, name } = run.pod.metadata;
      const isThere = this.ground.store.get("pods", namespace, name)?.metadata.uid === uid;
      if (!isThere && (node === undefined || nodeOf(run.pod) === node)) this.#end(uid);
    }
    for (const pod of this.ground.store.list("pods")) {
      if (node !== undefined && nodeOf(pod) !== node) continue;
      this.#see(pod);
      this.#runs.get(pod.metadata.uid)?.resume();
    }
  }

  #follow({ type, object }: Change): void {
    if (type !== "DELETED") this.#see(object);
    else if (this.#machines.get(nodeOf(object))?.isUp !== false) this.#end(object.metadata.uid);
  }

  #see(pod: Obj): void {
    const machine = this.#machines.get(nodeOf(pod));
    if (machine?.isUp !== true) return;
    const { uid, deletionTimestamp, deletionGracePeriodSeconds = 30 } = pod.metadata;
    const run = this.#runs.get(uid) ?? this.#run(pod, machine);
    if (deletionTimestamp !== undefined) run.stop(deletionGracePeriodSeconds);
  }

  #run(pod: Obj, machine: Machine): PodRun {
    const { ground, tokens } = this;
    const { namespace = "", name, uid } = pod.metadata;
    const run = new PodRun({ ground, tokens, machine, dice: this.#dice.fork(`${namespace}/${name}/${uid}`) }, pod);
    this.#runs.set(uid, run);
    return run;
  }

  #end(uid: string): void {
    this.#runs.get(uid)?.end();
    this.#runs.delete(uid);
  }
}
