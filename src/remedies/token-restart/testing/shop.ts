import type { TargetSelector, TokenRestartSpec } from "../../../api/controller-resilience";
import type { PodView } from "../../../core/views";
import { Scene, UNAUTHORIZED, type ScenePass } from "./scene";

const SHOP: TargetSelector = { kind: "Pod", selector: { matchLabels: { app: "shop" } } };
/** Owner of the pods. */
export const CLONE_SET = { group: "apps.kruise.io", kind: "CloneSet", name: "shop", uid: "cs" } as const;

/** A namespace without typed workloads, and an object with targets of kind Pod. */
export class Shop extends Scene {
  constructor(spec: Partial<TokenRestartSpec> = {}, targets: TargetSelector[] = [SHOP]) {
    super(spec);
    this.workloadList = [];
    this.podList = [];
    this.object = { ...this.object, spec: { ...this.object.spec, targets } };
  }

  /** Adds a pod of the CloneSet `shop`; an owner of undefined makes it a bare pod. */
  add(name: string, over: Partial<PodView> = {}, offsetMs = -3_600_000): void {
    const view = this.podAt(offsetMs, { name, uid: `uid-${name}`, labels: { app: "shop" }, owner: CLONE_SET, ...over });
    this.podList.push(view);
    this.logs.write(name, "main");
  }

  remove(name: string): void {
    this.podList = this.podList.filter(one => one.name !== name);
  }

  /** Lets these pods log a 401 every five seconds until they are rejected. */
  async sick(...names: string[]): Promise<ScenePass> {
    const step = (): void => names.forEach(name => this.log(UNAUTHORIZED, name));
    step();
    return this.passes(13, step);
  }

  /** Executes the restarts of a pass, without a successor. */
  execute({ intents }: ScenePass): void {
    for (const intent of intents) {
      this.noteRestart(intent);
      this.remove(intent.target.name);
    }
  }
}
