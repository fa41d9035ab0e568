import { isDeepStrictEqual } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { describeCall } from "../calls";
import { deedsOf } from "../crash/compare";
import { passesIn, type Rig } from "../rig";
import { objectPath, type Scene, type State, until } from "../scenario";
import { untilSettled } from "../settle";
import { OldView } from "./old-view";
import type { Story } from "./stories";

/** How the operator comes to see the old list. */
export type Way =
  /** From before the deed: what it does is not to be seen for long after it was done. */
  | "lag"
  /** Its watch is broken off, and its next list is old. */
  | "relist"
  /** It has just been started, and knows nothing else. */
  | "start"
  /** The same, and its own object is shown without a status. */
  | "start, object too";

/** In this order, on one story. */
export const WAYS: readonly Way[] = ["lag", "relist", "start", "start, object too"];

/** A new leader restarts nothing for ten seconds; in milliseconds. */
const BRAKE_MS = 11_000;
/** Longer than the cooldown of restarts, in milliseconds. */
const COOLDOWN_MS = 35_000;
/** Until an end comes, in milliseconds. */
const PATIENCE_MS = 120_000;

/** The result of one old view. */
export interface Seen {
  readonly way: Way;
  /** How often the old list was shown. */
  readonly shown: number;
  /** Writes that the API server has refused, status among them. */
  readonly refused: number;
  readonly failures: readonly string[];
}

/** Lets a story happen while the list lags, and shows afterwards, in each other way, that it has not happened yet. */
export async function tell(rig: Rig, story: Story, ways: readonly Way[] = WAYS): Promise<readonly Seen[]> {
  const scene = await rig.scene("stale");
  await story.scenario.prepare(scene);
  const view = await OldView.remember(scene, story.collection);
  void rig.proxy.watch({ namespace: scene.namespace, kill: rig.kill });
  view.show(rig.proxy);
  const object = await story.trigger(scene);
  const lag = await whileItLags(rig, { scene, story, view });
  await story.afterwards?.(scene);
  const state = await settled(rig, { scene, story, view }, story);
  const seen: Seen[] = [lag];
  for (const way of ways.filter(one => one !== "lag"))
    seen.push(await replay(rig, { scene, story, view }, { way, state, object }));
  return seen;
}

interface Stage {
  readonly scene: Scene;
  readonly story: Story;
  readonly view: OldView;
}

/** It acts on what the list says, and goes on to see it so. */
async function whileItLags(rig: Rig, stage: Stage): Promise<Seen> {
  const { story, view } = stage;
  const times = (): number => deedsOf(rig.proxy.writes)[story.deed] ?? 0;
  await until(story.deed, () => Promise.resolve(times() > 0), PATIENCE_MS);
  await sleep(story.collection === "pods" ? COOLDOWN_MS : 0);
  await lookTwice(rig, stage);
  view.catchUp();
  await settled(rig, stage, story.scenario);
  const failures = times() === 1 ? [] : [`${story.deed} was carried out ${times()} times`];
  return { way: "lag", shown: view.shown, refused: refused(rig), failures };
}

async function replay(
  rig: Rig,
  stage: Stage,
  { way, state, object }: { readonly way: Way; readonly state: State; readonly object: object },
): Promise<Seen> {
  const { scene, story, view } = stage;
  if (way !== "relist") await rig.kill();
  void rig.proxy.watch({ namespace: scene.namespace, kill: rig.kill });
  view.show(rig.proxy, way === "start, object too" ? object : undefined);
  if (way !== "relist") await rig.succeed();
  await until("the old list to be asked for", () => Promise.resolve(view.shown > 0), PATIENCE_MS);
  await scene.untilLedFor(BRAKE_MS);
  await lookTwice(rig, stage);
  const meanwhile = await story.scenario.describe(scene);
  view.catchUp();
  const after = await settled(rig, stage, story);
  const failures = [
    ...differing(state, meanwhile, story.fixed).map(text => `while it was shown: ${text}`),
    ...Object.entries(deedsOf(rig.proxy.writes)).map(([deed, times]) => `${deed} was carried out ${times} times`),
    ...rig.proxy.strays.map(write => `${describeCall(write)} in ${write.namespace ?? ""}`),
    ...differing(state, after, Object.keys(state)),
  ];
  return { way, shown: view.shown, refused: refused(rig), failures };
}

function differing(before: State, after: State, keys: readonly string[]): string[] {
  return keys
    .filter(key => !isDeepStrictEqual(before[key], after[key]))
    .map(key => `${key} was ${JSON.stringify(before[key])} and is ${JSON.stringify(after[key])}`);
}

/** Two passes that begin after this. */
async function lookTwice({ operator }: Rig, { scene }: Stage): Promise<void> {
  const passes = async (): Promise<number> => passesIn((await operator.probe("/metrics")).text);
  for (const look of ["first", "second"]) {
    const before = await passes();
    await scene.admin.patch(objectPath(scene), {
      metadata: { annotations: { "chaos.test/look": `${look} ${Date.now()}` } },
    });
    await until(`a ${look} look`, async () => (await passes()) > before);
  }
}

/** An end, when nothing is written any more. */
async function settled({ proxy }: Rig, { scene, story }: Stage, { isOver }: Pick<Story, "isOver">): Promise<State> {
  const end = { ...story.scenario, isOver, patienceMs: PATIENCE_MS };
  const { state, trouble } = await untilSettled(end, scene, () => ({ writes: proxy.writes.length }));
  if (trouble !== undefined) throw new Error(`${story.name}: ${trouble}`);
  return state;
}

function refused({ proxy }: Rig): number {
  return proxy.writes.filter(write => (write.code ?? 0) >= 400).length;
}
