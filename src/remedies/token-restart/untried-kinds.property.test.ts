import fc from "fast-check";
import { expect, it } from "vitest";
import type { Intent } from "../../core/intent";
import { NO_SUCCESSOR_MS } from "./settle";
import { UNAUTHORIZED } from "./testing/scene";
import { Shop } from "./testing/shop";

const KINDS = ["Machine", "Runner"] as const;

type Step =
  | { readonly do: "wait"; readonly passes: number }
  | { readonly do: "sleep"; readonly ms: number }
  | { readonly do: "failOver" }
  | { readonly do: "delete"; readonly index: number }
  | { readonly do: "add"; readonly kind: number; readonly owner: number };

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const), passes: fc.integer({ min: 1, max: 8 }) }) },
    fc.record({ do: fc.constant("sleep" as const), ms: fc.constantFrom(60_000, 700_000, 7_200_000) }),
    fc.record({ do: fc.constant("failOver" as const) }),
    fc.record({ do: fc.constant("delete" as const), index: fc.nat(9) }),
    fc.record({ do: fc.constant("add" as const), kind: fc.nat(1), owner: fc.nat(9) }),
  ),
  { minLength: 3, maxLength: 8 },
);

const executions = fc.array(fc.constantFrom("all", "first", "last", "lost", "none"), { minLength: 8, maxLength: 8 });

/** Owners of two kinds that never recreate a pod. */
class Graveyard extends Shop {
  readonly evicted: string[] = [];
  readonly #executions: readonly string[];
  #added = 0;
  #passes = 0;

  constructor(pods: readonly (readonly [number, number])[], ways: readonly string[]) {
    super({ cooldown: "0s", maxUnavailable: 3 });
    this.#executions = ways;
    for (const [kind, owner] of pods) this.put(kind, owner, -3_600_000);
  }

  put(kind: number, owner: number, offsetMs: number): void {
    const name = `m-${owner}`;
    const view = { group: "example.com", kind: KINDS[kind] ?? "", name, uid: `${kind}-${name}` };
    this.add(`p${this.#added++}`, { owner: view }, offsetMs);
  }

  /** A pod of an owner that has none and never had one. */
  putNew(kind: number, owner: number): void {
    this.put(kind, 10 + owner + 10 * this.#added, -60_000);
  }

  async wait(passes: number): Promise<void> {
    for (let i = 0; i < passes; i++) {
      this.clock.advance(5_000);
      for (const { name } of this.podList) this.log(UNAUTHORIZED, name);
      const { intents } = await this.pass();
      const way = this.#executions[this.#passes++ % this.#executions.length];
      const chosen =
        way === "none" ? [] : way === "first" ? intents.slice(0, 1) : way === "last" ? intents.slice(-1) : intents;
      for (const intent of chosen) this.#evict(intent, way === "lost");
    }
  }

  #evict(intent: Intent, isLost: boolean): void {
    this.noteRestart(intent, isLost ? "Requested" : "Restarted");
    this.remove(intent.target.name);
    this.evicted.push(intent.restart?.workload.split("/")[0] ?? "");
  }

  async step(step: Step): Promise<void> {
    if (step.do === "wait") await this.wait(step.passes);
    else if (step.do === "sleep") this.clock.advance(step.ms);
    else if (step.do === "failOver") this.failOver();
    else if (step.do === "delete") this.podList.splice(step.index, 1);
    else this.putNew(step.kind, step.owner);
  }
}

it("owners that never recreate a pod lose one pod per kind at most, whatever happens meanwhile", async () => {
  let evictions = 0;
  const pods = fc.array(fc.tuple(fc.nat(1), fc.nat(4)), { minLength: 2, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(pods, executions, steps, async (start, ways, events) => {
      const scene = new Graveyard(start, ways);
      await scene.wait(14);
      for (const event of events) await scene.step(event);
      await scene.wait(30);
      expect(new Set(scene.evicted).size).toBe(scene.evicted.length);
      evictions += scene.evicted.length;
      scene.clock.advance(NO_SUCCESSOR_MS);
      if (scene.evicted.length > 0) expect(await scene.pass()).toMatchObject({ reason: "NotRecreated" });
    }),
    { numRuns: 20 },
  );
  expect(evictions).toBeGreaterThan(10);
}, 60_000);
