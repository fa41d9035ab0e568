import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ForbiddenError } from "../../core/errors";
import { settle } from "../../core/testing/fake-clock";
import { InformerWorld } from "../testing/informer-world";

const ALL = "/api/v1/pods";
const COUNT = 24;
const BOOKMARK = `${JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: "1" } } })}\n`;
const name = (i: number): string => `ns-${i}`;
const pathOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;

type Step =
  | { readonly protect: number }
  | { readonly toggle: number }
  | { readonly wait: number }
  | { readonly hold: boolean }
  | { readonly forbid: boolean };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ protect: fc.constantFrom(0, 3, 10, 15, 20, 21, COUNT) }),
  fc.record({ toggle: fc.nat({ max: COUNT }) }),
  fc.record({ toggle: fc.nat({ max: COUNT }) }),
  fc.record({ wait: fc.constantFrom(1_000, 30_000, 60_000, 120_000) }),
  fc.record({ hold: fc.boolean() }),
  fc.record({ forbid: fc.boolean() }),
);

/** A cluster whose namespaces have a pod or none. */
class Cluster {
  readonly world = new InformerWorld();
  readonly pods = new Set<string>();
  protectedCount = 0;
  #version = 1;

  async take(step: Step): Promise<void> {
    const { world } = this;
    if ("protect" in step) {
      this.protectedCount = step.protect;
      world.informers.setNamespaces(new Set(Array.from({ length: step.protect }, (_, i) => name(i))));
    } else if ("wait" in step) await this.wait(step.wait);
    else if ("hold" in step) await this.#hold(step.hold);
    else if ("forbid" in step) {
      if (step.forbid) world.failures.set(ALL, new ForbiddenError("forbidden"));
      else world.failures.delete(ALL);
    } else await this.#toggle(name(step.toggle));
    await settle();
    await settle();
  }

  /** Open watches get bookmarks meanwhile. */
  async wait(ms: number): Promise<void> {
    const { clock, open, streams } = this.world;
    for (const endMs = clock.monotonicMs() + ms; clock.monotonicMs() < endMs; ) {
      await clock.run(Math.min(30_000, endMs - clock.monotonicMs()));
      for (const path of open) streams.get(path)?.push(BOOKMARK);
      await settle();
      await settle();
    }
  }

  /** Lists of all pods are not answered for a while. */
  async #hold(isHeld: boolean): Promise<void> {
    if (isHeld) this.world.held.add(ALL);
    else await this.world.release(ALL);
  }

  async #toggle(namespace: string): Promise<void> {
    const { pods, world } = this;
    const isNew = !pods.has(namespace);
    const object = this.#pod(namespace, `${(this.#version += 1)}`);
    if (isNew) pods.add(namespace);
    else pods.delete(namespace);
    world.items.set(
      ALL,
      [...pods].map(other => this.#pod(other)),
    );
    world.items.set(pathOf(namespace), isNew ? [this.#pod(namespace)] : []);
    const type = isNew ? "ADDED" : "DELETED";
    world.changed.length = 0;
    await world.say(pathOf(namespace), type, object);
    await world.say(ALL, type, object);
  }

  #pod(namespace: string, resourceVersion = "1"): object {
    const creationTimestamp = "2025-01-01T00:00:00Z";
    return { metadata: { uid: `uid-${namespace}`, namespace, name: "p", resourceVersion, creationTimestamp } };
  }
}

/** Checks what every protected namespace reads. @param answered namespaces that have answered before */
async function checkReads(cluster: Cluster, answered: Set<string>): Promise<void> {
  const { world, pods, protectedCount } = cluster;
  for (let i = 0; i < COUNT; i++) {
    const namespace = name(i);
    if (i >= protectedCount) {
      answered.delete(namespace);
      continue;
    }
    const read = world.informers.pods(namespace).catch((error: unknown) => error);
    if (!answered.has(namespace)) await cluster.wait(5_000);
    const views = await read;
    if (views instanceof Error && !answered.has(namespace)) continue;
    expect(views).toHaveLength(pods.has(namespace) ? 1 : 0);
    answered.add(namespace);
  }
}

describe("watches that change between all namespaces and each", () => {
  it("never show what is not true, answer again once they have answered, and report each change", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 5, maxLength: 20 }), async steps => {
        const cluster = new Cluster();
        const { informers, changed } = cluster.world;
        const answered = new Set<string>();
        for (const step of steps) {
          await cluster.take(step);
          await checkReads(cluster, answered);
          if (!("toggle" in step)) continue;
          const namespace = name(step.toggle);
          if (answered.has(namespace)) expect(changed).toContain(namespace);
          if (!informers.namespaces().includes(namespace)) expect(changed).not.toContain(namespace);
        }
        await informers.stop();
      }),
      { numRuns: 60 },
    );
  }, 60_000);
});
