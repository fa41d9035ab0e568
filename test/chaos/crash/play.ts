import fc from "fast-check";
import { describeCall } from "../calls";
import { differences, type Run } from "./compare";
import type { CrashPoint, Moment, Write } from "../proxy";
import { leaveAlone, type Quiet } from "../quiet";
import type { Rig } from "../rig";
import type { Scenario, Scene } from "../scenario";
import { untilSettled } from "../settle";

const MOMENTS: readonly Moment[] = ["before", "after"];

/**
 * The failure of a run in which the planned write never came. Without another difference nothing was injected: the operator at times merges two
 * writes of status into one, if the second follows soon enough.
 */
const NEVER_CAME = "the write at which the fault was planned never came";

/** Number of runs for a write that does not come. */
const MOST_TRIES = 3;

/** How to run the scenarios. */
interface CrashOptions {
  /** The points, out of the recorded writes, at which to kill the operator. */
  readonly pointsOf: (writes: readonly Write[]) => readonly CrashPoint[];
  /** How long nothing may be written at the end; in milliseconds. */
  readonly quietMs: number;
  readonly print: (line: string) => void;
}

/** One crash, and its result. */
export interface Injection {
  readonly point: CrashPoint;
  readonly differences: readonly string[];
  readonly seconds: number;
}

/** All results of one scenario. */
export interface CrashReport {
  readonly scenario: string;
  readonly recorded: Run;
  readonly injections: readonly Injection[];
  /** Points at which the operator was not killed, because the write did not come again in any run. */
  readonly absent: readonly CrashPoint[];
  /** Number of objects of finished scenarios at that time. */
  readonly quiet: Quiet & { readonly objects: number };
}

/** Runs a scenario once without a crash, then once for each point at which to kill the operator. */
export async function crashEverywhere(rig: Rig, scenario: Scenario, options: CrashOptions): Promise<CrashReport> {
  const scenes: string[] = [];
  const play = async (point?: CrashPoint): Promise<Run> => {
    if (scenario.isShared) await rig.clear(scenes.splice(0));
    const scene = await rig.scene(scenario.name);
    scenes.push(scene.namespace);
    return new Play(rig, scenario, scene).run(point);
  };
  const recorded = await play();
  if (recorded.trouble !== undefined) throw new Error(`${scenario.name}, without a crash: ${recorded.trouble}`);
  options.print(`${scenario.name}: ${recorded.writes.map(describeCall).join(", ")}`);
  const injections: Injection[] = [];
  const absent: CrashPoint[] = [];
  for (const point of options.pointsOf(recorded.writes)) {
    const startedMs = performance.now();
    let found = [NEVER_CAME];
    for (let tries = 0; found.join() === NEVER_CAME && tries < MOST_TRIES; tries++)
      found = differences(recorded, await play(point));
    const seconds = (performance.now() - startedMs) / 1000;
    options.print(tell(scenario, { point, seconds, differences: found }));
    if (found.join() === NEVER_CAME) absent.push(point);
    else injections.push({ point, seconds, differences: found });
  }
  const quiet = { ...(await leaveAlone([rig.proxy], options.quietMs)), objects: scenes.length };
  await rig.clear(scenes);
  return { scenario: scenario.name, recorded, injections, absent, quiet };
}

/** Points before and after each write, in an order that the seed decides, cut to the limit. */
export function everywhere(seed: number, atMost = Infinity): CrashOptions["pointsOf"] {
  return writes => {
    const calls = writes.map(describeCall);
    const all = calls.flatMap((call, i) => {
      const nth = calls.slice(0, i + 1).filter(other => other === call).length;
      return MOMENTS.map((moment): CrashPoint => ({ call, nth, moment }));
    });
    const order = fc.shuffledSubarray(all, { minLength: all.length });
    return (fc.sample(order, { seed, numRuns: 1 })[0] ?? []).slice(0, atMost);
  };
}

function tell({ name }: Scenario, { point, seconds, ...injection }: Injection): string {
  const seen = injection.differences.length === 0 ? "the same" : `DIFFERENT: ${injection.differences.join("; ")}`;
  return `${name}: killed ${describePoint(point)}: ${seen} (${seconds.toFixed(0)} s)`;
}

/** Formats a point: `after PATCH daemonsets 1`. */
export function describePoint({ call, nth, moment }: CrashPoint): string {
  return `${moment} ${call} ${nth}`;
}

/** Runs a scenario once, in its own scene. */
class Play {
  #isCrashed = false;
  /** A run can't be over while no operator process runs. */
  #isSucceeding = false;
  #succession: Promise<void> = Promise.resolve();

  constructor(
    private readonly rig: Rig,
    private readonly scenario: Scenario,
    private readonly scene: Scene,
  ) {}

  async run(point?: CrashPoint): Promise<Run> {
    const { rig, scenario, scene } = this;
    const watched = { namespace: scene.namespace, kill: rig.kill };
    void rig.proxy.watch(watched);
    await scenario.prepare(scene);
    const early = [...rig.proxy.strays];
    void rig.proxy.watch({ ...watched, point }).then(() => this.#succeed());
    await scenario.trigger(scene);
    const { state, trouble } = await this.#end();
    await this.#succession;
    const missed = point !== undefined && !this.#isCrashed ? NEVER_CAME : undefined;
    const strays = [...early, ...rig.proxy.strays];
    return { writes: [...rig.proxy.writes], strays, state, trouble: trouble ?? missed };
  }

  #succeed(): void {
    this.#isCrashed = true;
    this.#isSucceeding = true;
    this.#succession = this.rig.succeed().finally(() => (this.#isSucceeding = false));
    // The code that waits reports the error.
    this.#succession.catch(() => undefined);
  }

  #end(): Promise<Pick<Run, "state" | "trouble">> {
    const { rig, scenario, scene } = this;
    return untilSettled(scenario, scene, () => ({ writes: rig.proxy.writes.length, isBusy: this.#isSucceeding }));
  }
}
