import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "../../../src/core/json";
import type { Rig } from "../rig";
import { readObject, type Scene } from "../scenario";
import type { Plot } from "./census";
import { type Course, isCompared, specWith } from "./course";
import { asFresh, describeValue, judge } from "./judge";
import { apply, furnish, refusalOf } from "./plot";
import { type Rest, untilAtRest } from "./rest";
import { Tally } from "./tally";
import type { Refused } from "./values";

/** Number of namespaces that are prepared concurrently. */
const AT_ONCE = 8;
/** How long a value in passing stays: too short to settle, long enough to have an effect. */
const IN_PASSING_MS = 1_500;

/** A course, and its namespaces. */
interface Played {
  readonly course: Course;
  readonly scene: Scene;
  /** The namespace of an object that only ever has the base spec. */
  readonly base: Scene;
  /** The namespace of an object that only ever has the last value. */
  readonly fresh: Scene | undefined;
}

/** Runs all courses concurrently, each in its own namespace: sets one value of each, then waits until all have settled. */
export class Play {
  /** By what was promised. */
  readonly tallies = {
    fresh: new Tally(),
    back: new Tally(),
    before: new Tally(),
    told: new Tally(),
    refused: new Tally(),
    rest: new Tally(),
  };
  readonly scenes: Scene[] = [];
  readonly #rig: Rig;
  readonly #print: (line: string) => void;
  #played: readonly Played[] = [];

  constructor(rig: Rig, print: (line: string) => void) {
    this.#rig = rig;
    this.#print = print;
  }

  async run(courses: readonly Course[]): Promise<void> {
    void this.#rig.proxy.watch({ namespace: "", kill: this.#rig.kill });
    await this.#begin(courses);
    let before = await this.#rest("the beginning");
    const rounds = Math.max(...courses.map(({ steps }) => steps.length)) + 1;
    for (let round = 0; round < rounds; round++) {
      await Promise.all(this.#played.map(played => this.#step(played, round)));
      const after = await this.#rest(`round ${round + 1} of ${rounds}`);
      for (const played of this.#played) this.#judge(played, round, { before, after });
      before = after;
    }
  }

  async #begin(courses: readonly Course[]): Promise<void> {
    const specs = new Map<unknown, JsonObject>();
    for (const course of courses) {
      const last = course.steps.at(-1)?.value;
      specs.set(course, course.base.spec).set(course.base, course.base.spec);
      // The namespaces of each step serve as its reference from its last value on.
      if (last !== undefined && isCompared(last)) specs.set(course.steps, specWith(course, last));
    }
    const scenes = await this.#furnish(specs);
    this.#played = courses.map(course => {
      const [scene, base] = [scenes.get(course)!, scenes.get(course.base)!];
      return { course, scene, base, fresh: scenes.get(course.steps) };
    });
  }

  /** Creates a namespace with an object for each spec. */
  async #furnish(specs: ReadonlyMap<unknown, JsonObject>): Promise<Map<unknown, Scene>> {
    const scenes = new Map<unknown, Scene>();
    const waiting = [...specs];
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const scene = await this.#rig.scene("fields");
        this.scenes.push(scene);
        scenes.set(next[0], scene);
        await furnish(scene);
        await apply(scene, next[1]);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return scenes;
  }

  /** Prints broken promises at once, since many more may follow. */
  #note(promise: keyof Play["tallies"], name: string, failures: readonly string[]): void {
    this.tallies[promise].note(name, failures);
    for (const line of failures) this.#print(`BROKEN PROMISE (${promise}): ${name}: ${line}`);
  }

  async #rest(what: string): Promise<Rest> {
    const rest = await untilAtRest(this.scenes[0]!.admin, this.#rig.proxy);
    const { census, restless, seconds } = rest;
    this.#print(`${what}: ${census.plots.size} objects have settled after ${seconds.toFixed(0)} s`);
    for (const [namespace] of census.plots)
      this.#note("rest", `${this.#nameOf(namespace)}, ${what}`, restless.get(namespace) ?? []);
    return rest;
  }

  /** Tries the invalid values first, then sets the next value; after the last one, the value of the base. */
  async #step({ course, scene }: Played, round: number): Promise<void> {
    const step = course.steps[round];
    if (step === undefined) {
      if (round === course.steps.length) await apply(scene, course.base.spec);
      return;
    }
    for (const refused of step.refused) await this.#refuse(course, scene, refused);
    if (step.inPassing !== undefined) {
      await apply(scene, specWith(course, step.inPassing));
      await sleep(IN_PASSING_MS);
    }
    await apply(scene, specWith(course, step.value));
    const passed = step.inPassing === undefined ? "" : `, in passing ${describeValue(course, step.inPassing)}`;
    this.#print(`set ${describeValue(course, step.value)}${passed}; ${step.refused.length} invalid tried`);
  }

  async #refuse(course: Course, scene: Scene, refused: Refused): Promise<void> {
    const before = await readObject(scene);
    const words = await refusalOf(scene, specWith(course, refused));
    const after = await readObject(scene);
    const failures = [
      ...(words === undefined ? ["it was accepted"] : []),
      ...(words === undefined || refused.words.test(words)
        ? []
        : [`expected ${String(refused.words)}, found ${words}`]),
      ...(before?.metadata.generation === after?.metadata.generation ? [] : ["the object was changed nevertheless"]),
    ];
    this.#note("refused", describeValue(course, refused), failures);
  }

  #judge(
    { course, scene, fresh, base }: Played,
    round: number,
    { before, after }: Record<"before" | "after", Rest>,
  ): void {
    const at = (where: Scene, rest: Rest): Plot => plotOf(rest, where);
    const step = course.steps[round];
    if (step === undefined) {
      if (round !== course.steps.length) return;
      this.#note(
        "back",
        `${course.field} (${course.base.name})`,
        asFresh(course.field, at(scene, after), at(base, after)),
      );
      return;
    }
    const isLast = round === course.steps.length - 1;
    const found = judge(course.field, step.value, {
      seen: at(scene, after),
      before: at(scene, before),
      fresh: isLast && fresh !== undefined ? at(fresh, after) : undefined,
    });
    const name = describeValue(course, step.value);
    for (const promise of ["fresh", "before", "told"] as const) {
      const failures = found[promise];
      if (failures !== undefined) this.#note(promise, name, failures);
    }
  }

  #nameOf(namespace: string): string {
    const played = this.#played.find(({ scene }) => scene.namespace === namespace);
    return played === undefined ? namespace : `${played.course.field} (${played.course.base.name})`;
  }
}

function plotOf({ census }: Rest, { namespace }: Scene): Plot {
  const plot = census.plots.get(namespace);
  if (plot === undefined) throw new Error(`the object of ${namespace} does not exist`);
  return plot;
}
