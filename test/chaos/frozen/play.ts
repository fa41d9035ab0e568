import { setTimeout as sleep } from "node:timers/promises";
import { type Call, describeCall } from "../calls";
import { actionsOf } from "../crash/compare";
import type { Write } from "../proxy";
import type { Replica, Rig } from "../rig";
import { removeObject, type Scenario, type Scene, type State, until } from "../scenario";
import { untilSettled } from "../settle";
import { complaintsOf, type Fate, type FreezePoint, ONCE } from "./points";

/** Time limit for a Lease to expire and another replica to acquire it; in milliseconds. */
const TAKEN_OVER_MS = 90_000;
/** Longer than a pass that a process begins or continues when it wakes up; in milliseconds. */
const AWAKE_MS = 5_000;

/** The result of one freeze. */
export interface Frozen {
  readonly point: FreezePoint;
  /** Writes of the frozen replica that reached the API server after it woke up, and how many of them the API server refused. */
  readonly afterwards: { readonly sent: number; readonly refused: number };
  readonly failures: readonly string[];
}

/** Freezes the leader at that call until its Lease has expired; the other replica does the work; then the first wakes up. */
export async function freeze(rig: Rig, pair: readonly Replica[], point: FreezePoint): Promise<Frozen> {
  const once = ONCE.find(({ scenario }) => scenario.name === point.scenario)!;
  const { scenario } = once;
  const [leader, other] = await inOrder(pair);
  const ledFromMs = performance.now();
  const untilLedFor = (ms: number): Promise<void> => sleep(Math.max(0, ledFromMs + ms - performance.now()));
  const scene = { ...(await rig.scene(scenario.name)), untilLedFor };
  await scenario.prepare(scene);
  for (const { proxy } of pair) void proxy.watch({ namespace: scene.namespace, kill: () => Promise.resolve() });
  const freezer = new Freezer(leader, scene, point);
  await scenario.trigger(scene);
  await until(`${point.call} to come`, () => Promise.resolve(freezer.isFrozen), TAKEN_OVER_MS);
  await until("the other replica to lead", () => other.operator.leads(), TAKEN_OVER_MS);
  if (point.isEarly !== true) await endOf(pair, scenario, scene);
  const before = answered(leader).length;
  freezer.wake();
  await until("the first replica to stop leading", () => follows(leader));
  await sleep(AWAKE_MS);
  const state = await endOf(pair, scenario, scene);
  const actions = actionsOf(pair.flatMap(({ proxy }) => proxy.writes));
  const codes = answered(leader).map(({ code = 0 }) => code);
  const strays = pair.flatMap(({ proxy }) =>
    proxy.strays.map(write => `${describeCall(write)} in ${write.namespace ?? ""}`),
  );
  const refused = codes.filter(code => code >= 400).length;
  if (scenario.isShared) await removeObject(scene);
  const afterwards = { sent: codes.length - before, refused };
  return { point, afterwards, failures: [...complaintsOf(once, { actions, state }), ...strays] };
}

/** Returns the current leader first. */
async function inOrder([first, second]: readonly Replica[]): Promise<[Replica, Replica]> {
  if (first === undefined || second === undefined) throw new Error("two replicas are needed");
  await until(
    "one of the replicas to lead",
    async () => (await first.operator.leads()) || (await second.operator.leads()),
  );
  return (await first.operator.leads()) ? [first, second] : [second, first];
}

/** Whether the replica runs, and knows that it no longer leads. */
async function follows({ operator }: Replica): Promise<boolean> {
  return (await operator.probe("/healthz")).status === 200 && !(await operator.leads());
}

function answered({ proxy }: Replica): Write[] {
  return proxy.writes.filter(({ code }) => code !== undefined);
}

/** Waits for the final state of the scenario; throws if there is none. */
async function endOf(pair: readonly Replica[], scenario: Scenario, scene: Scene): Promise<State> {
  const writes = (): number => pair.reduce((sum, { proxy }) => sum + proxy.writes.length, 0);
  const { state, trouble } = await untilSettled(scenario, scene, () => ({ writes: writes() }));
  if (trouble !== undefined) throw new Error(trouble);
  return state;
}

/** Freezes a process at its first call of that kind in a scene, and wakes it up later. */
class Freezer {
  isFrozen = false;
  wake: () => void = () => undefined;
  readonly #woken: Promise<void>;

  constructor({ operator, proxy }: Replica, { namespace }: Scene, point: FreezePoint) {
    this.#woken = new Promise(resolve => {
      this.wake = () => {
        resolve();
        operator.signal("SIGCONT");
      };
    });
    const meet = async (fates: readonly Fate[], { namespace: where, ...what }: Call, url: string): Promise<void> => {
      const isIt = describeCall(what) === point.call && where === namespace && !url.includes("watch=true");
      if (this.isFrozen || !isIt || !fates.includes(point.fate)) return;
      this.isFrozen = true;
      operator.signal("SIGSTOP");
      await this.#woken;
      if (point.fate === "lost") throw new Error("the frozen request is lost");
    };
    proxy.interceptor = {
      before: async (call, url) => {
        await meet(["late", "lost"], call, url);
        return undefined;
      },
      after: (call, url) => meet(["done"], call, url),
    };
  }
}
