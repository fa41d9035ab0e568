import { isDeepStrictEqual } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { describeCall } from "../calls";
import { actionsOf } from "../crash/compare";
import { passesIn, type Rig } from "../rig";
import { objectPath, type Scene, type State, until } from "../scenario";
import { untilSettled } from "../settle";
import { OldView } from "./old-view";
import type { Story } from "./stories";

/** How the operator comes to see the old list. */
type Way =
  /** The list lags from before the action until long after it. */
  | "lag"
  /** Its watch breaks, and the next list is old. */
  | "relist"
  /** The operator has just started, so the old list is its first. */
  | "start"
  /** As start, and its ControllerResilience is returned without a status. */
  | "start, object too";

/** In this order, in one story. */
const WAYS: readonly Way[] = ["lag", "relist", "start", "start, object too"];

/** A new leader restarts nothing for ten seconds; in milliseconds. */
const BRAKE_MS = 11_000;
/** Longer than the cooldown of restarts, in milliseconds. */
const COOLDOWN_MS = 35_000;
/** Until an end comes, in milliseconds. */
const PATIENCE_MS = 120_000;

/** The result of one old list. */
export interface Seen {
  readonly way: Way;
  /** How often the operator got the old view. */
  readonly shown: number;
  /** Writes that the API server has refused, including those of status. */
  readonly refused: number;
  readonly failures: readonly string[];
}

/** Runs a story while the list lags, then returns the old list in each other way. */
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

/** The operator acts on the lagging list, and keeps seeing the state before its action. */
async function whileItLags(rig: Rig, stage: Stage): Promise<Seen> {
  const { story, view } = stage;
  const times = (): number => actionsOf(rig.proxy.writes)[story.action] ?? 0;
  await until(story.action, () => Promise.resolve(times() > 0), PATIENCE_MS);
  await sleep(story.collection === "pods" ? COOLDOWN_MS : 0);
  await lookTwice(rig, stage);
  view.catchUp();
  await settled(rig, stage, story.scenario);
  const failures = times() === 1 ? [] : [`${story.action} was carried out ${times()} times`];
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
  await until("a request for the old view", () => Promise.resolve(view.shown > 0), PATIENCE_MS);
  await scene.untilLedFor(BRAKE_MS);
  await lookTwice(rig, stage);
  const meanwhile = await story.scenario.describe(scene);
  view.catchUp();
  const after = await settled(rig, stage, story);
  const failures = [
    ...differing(state, meanwhile, story.fixed).map(text => `while the old list was shown: ${text}`),
    ...Object.entries(actionsOf(rig.proxy.writes)).map(([action, times]) => `${action} was carried out ${times} times`),
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

/** Waits for two passes that begin after this call. */
async function lookTwice({ operator }: Rig, { scene }: Stage): Promise<void> {
  const passes = async (): Promise<number> => passesIn((await operator.probe("/metrics")).text);
  for (const look of ["first", "second"]) {
    const before = await passes();
    await scene.admin.patch(objectPath(scene), {
      metadata: { annotations: { "chaos.test/look": `${look} ${Date.now()}` } },
    });
    await until(`the ${look} pass`, async () => (await passes()) > before);
  }
}

/** Waits for the final state, and until nothing is written any more. */
async function settled({ proxy }: Rig, { scene, story }: Stage, { isOver }: Pick<Story, "isOver">): Promise<State> {
  const end = { ...story.scenario, isOver, patienceMs: PATIENCE_MS };
  const { state, trouble } = await untilSettled(end, scene, () => ({ writes: proxy.writes.length }));
  if (trouble !== undefined) throw new Error(`${story.name}: ${trouble}`);
  return state;
}

function refused({ proxy }: Rig): number {
  return proxy.writes.filter(write => (write.code ?? 0) >= 400).length;
}
