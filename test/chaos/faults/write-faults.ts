import fc from "fast-check";
import { describeCall, isStatus } from "../calls";
import { isAbsent, NEVER_CAME, untilInjected } from "../crash/again";
import { differences, type Run } from "../crash/compare";
import { describeFault } from "../fault";
import type { FaultProxy, WriteFault } from "../fault-proxy";
import type { Write } from "../proxy";
import { removeObject, type Scenario, type Scene } from "../scenario";
import { bindingRenewal } from "../scenarios/binding-renewal";
import { staleToken } from "../scenarios/stale-token";
import { tokenTrial } from "../scenarios/token-lifetime";
import { untilSettled } from "../settle";
import type { Finding, Stage } from "../suite";
import type { World } from "./world";

/** Allowed share of the writes of status, one per scenario, that never come again. With more, the recorded runs are not representative. */
const MOST_ABSENT = 1;

/** Concurrent cases: each write meets its fault in its own namespace. Cases of shared scenarios run one after another beside them. */
const AT_ONCE = 5;

/** The scenarios whose writes meet the faults. */
export const WRITE_SCENARIOS: readonly Scenario[] = [bindingRenewal, tokenTrial, staleToken];

/** Every possible answer to a write, carried out or not. */
export const WRITE_FAULTS: readonly WriteFault[] = [
  { moment: "before", denial: { code: 409 } },
  { moment: "before", denial: { code: 429 } },
  { moment: "before", denial: { code: 429, retryAfter: "2" } },
  { moment: "before", denial: { code: 500 } },
  { moment: "before", denial: { code: 503 } },
  { moment: "after", denial: { code: 500 } },
  { moment: "after", denial: { code: 503, retryAfter: "1" } },
  { moment: "after", denial: "reset" },
  // The operator gives up at its own deadline.
  { moment: "after", denial: "silence" },
];

/** One fault at one of the writes of a scenario. */
interface Case {
  readonly scenario: Scenario;
  readonly recorded: Run;
  readonly fault: WriteFault;
  /** The kind of write, and its number among those of its kind, from 1. */
  readonly call: string;
  readonly nth: number;
  readonly isStatus: boolean;
}

/** The result of one case. */
interface Played {
  readonly of: Case;
  readonly differences: readonly string[];
}

/** Runs each scenario once without a fault, then with a fault at each write except of status, and at writes of status that the seed chooses. */
export async function playWriteFaults(
  world: World,
  { faults, scenarios }: { readonly faults: readonly WriteFault[]; readonly scenarios: readonly Scenario[] },
  { seed, isFull, print }: Pick<Stage, "seed" | "isFull" | "print">,
): Promise<Finding[]> {
  if (faults.length === 0) return [];
  const cases: Case[] = [];
  for (const scenario of scenarios) {
    const recorded = await play(world, scenario);
    if (recorded.trouble !== undefined) throw new Error(`${scenario.name}, without a fault: ${recorded.trouble}`);
    const all = faults.map((fault, i) => casesOf(scenario, recorded, fault, seed + i));
    cases.push(...(scenario.isShared && !isFull ? oneOfEach(all, seed) : all.flat()));
  }
  const work = async (of: Case): Promise<Played> => {
    const result = await playCase(world, of);
    print(tell(result));
    return result;
  };
  const isShared = ({ scenario }: Case): boolean => scenario.isShared === true;
  const apart = cases.filter(one => !isShared(one));
  const played = (await Promise.all([inTurns(apart, AT_ONCE, work), inTurns(cases.filter(isShared), 1, work)])).flat();
  return faults.map(fault =>
    findingOf(
      fault,
      played.filter(({ of }) => of.fault === fault),
    ),
  );
}

async function playCase(world: World, of: Case): Promise<Played> {
  const found = await untilInjected(async () => differences(of.recorded, await play(world, of.scenario, of)));
  return { of, differences: found };
}

function casesOf(scenario: Scenario, recorded: Run, fault: WriteFault, seed: number): Case[] {
  const points = recorded.writes.map((write, i) => {
    const call = describeCall(write);
    const nth = recorded.writes.slice(0, i + 1).filter(other => describeCall(other) === call).length;
    return { scenario, recorded, fault, call, nth, isStatus: isStatus(write) };
  });
  const statuses = points.filter(point => point.isStatus);
  const chosen = fc.sample(fc.constantFrom(...statuses), { seed, numRuns: 1 });
  return [...points.filter(point => !point.isStatus), ...chosen];
}

/** One case of each fault, at another write each time, since these cases can't run at the same time. Pure. */
function oneOfEach(all: readonly (readonly Case[])[], seed: number): Case[] {
  return all.flatMap((cases, i) => cases.slice((seed + i) % cases.length).slice(0, 1));
}

async function play(world: World, scenario: Scenario, given?: Case): Promise<Run> {
  const { proxy } = world.first;
  const scene = await world.scene(scenario.name);
  world.apart.add(scene.namespace);
  const own = (): Write[] => proxy.writes.filter(({ namespace }) => namespace === scene.namespace);
  await scenario.prepare(scene);
  const end = given === undefined ? undefined : plan(proxy.plans, scene, given);
  await scenario.trigger(scene);
  const { state, trouble } = await untilSettled(scenario, scene, () => ({ writes: own().length }));
  const isMissing = end?.() === false;
  const writes = own();
  if (scenario.isShared) await removeObject(scene);
  return {
    writes,
    strays: [],
    state,
    trouble: trouble ?? (isMissing ? NEVER_CAME : undefined),
  };
}

/** Plans the fault; returns a function that tells whether it was injected. */
function plan(plans: FaultPlans, { namespace }: Scene, { call, nth, fault }: Case): () => boolean {
  let seen = 0;
  plans.set(namespace, write => {
    if (describeCall(write) !== call) return undefined;
    seen += 1;
    return seen === nth ? fault : undefined;
  });
  return () => seen >= nth;
}

type FaultPlans = FaultProxy["plans"];

async function inTurns<T, R>(items: readonly T[], atOnce: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const waiting = [...items];
  const done: R[] = [];
  const turn = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) done.push(await work(item));
  };
  await Promise.all(Array.from({ length: atOnce }, turn));
  return done;
}

function findingOf(fault: WriteFault, played: readonly Played[]): Finding {
  const absent = played.filter(wasAbsent);
  const met = played.filter(one => !wasAbsent(one));
  const same = met.filter(({ differences: different }) => different.length === 0).length;
  const isAmiss = absent.length > MOST_ABSENT;
  return {
    fault: `${describeWriteFault(fault)}, at single writes`,
    times: met.length,
    promised: "the same end state, no action repeated",
    seen: `the same ${same} times${absent.length === 0 ? "" : `; ${absent.length} never came again`}`,
    failures: [
      ...met.flatMap(({ of, differences: different }) => different.map(text => `${describeCase(of)}: ${text}`)),
      ...(isAmiss ? absent.map(({ of }) => `${describeCase(of)}: ${NEVER_CAME}`) : []),
    ],
  };
}

/** Only writes of status may be merged, so any other write must come again. */
function wasAbsent({ of, differences: found }: Played): boolean {
  return of.isStatus && isAbsent(found);
}

function tell(played: Played): string {
  const { of, differences: different } = played;
  const seen = wasAbsent(played)
    ? "never came again"
    : different.length === 0
      ? "the same"
      : `DIFFERENT: ${different.join("; ")}`;
  return `${describeCase(of)}: ${seen}`;
}

function describeCase({ scenario, call, nth, fault }: Case): string {
  return `${scenario.name}, ${call} ${nth}, ${describeWriteFault(fault)}`;
}

function describeWriteFault({ moment, denial }: WriteFault): string {
  return moment === "before"
    ? `${describeFault(denial)} instead of carrying it out`
    : `${describeFault(denial)} after carrying it out`;
}
