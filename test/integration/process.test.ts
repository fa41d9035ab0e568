import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Lab } from "../lab";
import type { Write } from "../rig/proxy";
import { LEASE, type Replica, Rig, watchLeaders } from "../rig/rig";
import { type Scene, says, type State, until, untilSettled } from "../rig/scenario";
import { bindingRenewal } from "../rig/scenarios";
import { ownLabName } from "./suite-lab";

// What the simulation cannot do to a leader: real signals, and real connections that break. The leader renews a binding meanwhile. It has its own
// lab, in which the operator has no other objects.

const RENEWAL = "PATCH rolebindings";

/** How long an answer is held back after the operator has begun to exit, in milliseconds. */
const HELD_MS = 1_000;
/** Longer than a pass that a process begins or continues when it wakes up, in milliseconds. */
const AWAKE_MS = 5_000;

let lab: Lab;
let rig: Rig;
let pair: readonly Replica[];

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("process"), controlPlaneOnly: true });
  rig = await Rig.up(lab);
});

afterAll(() => lab.down());

it("finishes a renewal, releases its Lease and exits in time after SIGTERM", async () => {
  const scene = await prepared([rig]);
  const renewal = new HeldRenewal(rig, scene, "after");
  await bindingRenewal.trigger(scene);
  await renewal.reached();
  const isStopping = (): Promise<boolean> => Promise.resolve(rig.operator.log.some(({ msg }) => msg === "stopping"));
  void until("the operator to stop", isStopping).then(() => setTimeout(renewal.letGo, HELD_MS));
  // It exits with 1 if its shutdown takes longer than five seconds.
  expect(await rig.operator.stop()).toBe(0);
  rig.proxy.interceptor = {};
  await rig.proxy.settled();
  const { spec } = await scene.admin.get<{ spec: { holderIdentity?: string } }>(LEASE);
  expect(spec.holderIdentity ?? "").toBe("");
  expect(says(await bindingRenewal.describe(scene), "BindingsCurrent", "Current")).toBe(true);
  await rig.succeed();
  await expectOnce([rig], scene);
});

it("is refused its late renewal, and writes nothing else, after a freeze during which another replica took over", async () => {
  pair = [rig, await rig.replica()];
  const [leader, other] = await inOrder(pair);
  const scene = await prepared(pair);
  const renewal = new HeldRenewal(leader, scene, "before", () => leader.operator.signal("SIGSTOP"));
  await bindingRenewal.trigger(scene);
  await renewal.reached();
  await until("the other replica to lead", () => other.operator.leads());
  await endOf(pair, scene);
  const before = answers(leader, scene).length;
  renewal.letGo();
  leader.operator.signal("SIGCONT");
  await until("the first replica to follow", () => follows(leader));
  await until("the late renewal to be answered", () => Promise.resolve(answers(leader, scene).length > before));
  await sleep(AWAKE_MS);
  leader.proxy.interceptor = {};
  const late = answers(leader, scene).slice(before);
  expect([late.length, late[0]! >= 400], `answers to its writes after it woke up: ${late.join(", ")}`).toEqual([
    1,
    true,
  ]);
  await expectOnce(pair, scene);
});

it("leads no longer once its connections have broken, and never beside the standby", async () => {
  const [leader, other] = await inOrder(pair);
  const scene = await prepared(pair);
  const together = watchLeaders(pair);
  const accept = leader.proxy.cutOff();
  await bindingRenewal.trigger(scene);
  await until("the other replica to lead", () => other.operator.leads());
  await endOf(pair, scene);
  await accept();
  await until("the first replica to be Ready", async () => (await leader.operator.probe("/readyz")).status === 200);
  await sleep(AWAKE_MS);
  expect((await together()).all).toBe(0);
  expect([await follows(leader), await other.operator.leads()]).toEqual([true, true]);
  await expectOnce(pair, scene);
});

/** A scene with a binding that is due as soon as it is asked for. */
async function prepared(replicas: readonly Replica[]): Promise<Scene> {
  const scene = await rig.scene("process");
  await bindingRenewal.prepare(scene);
  for (const { proxy } of replicas) proxy.forget();
  return scene;
}

/** Waits for the final state; throws if there is none. */
async function endOf(replicas: readonly Replica[], scene: Scene): Promise<State> {
  const writes = (): number => replicas.flatMap(({ proxy }) => proxy.writesIn(scene.namespace)).length;
  const { state, trouble } = await untilSettled(bindingRenewal, scene, writes);
  if (trouble !== undefined) throw new Error(trouble);
  return state;
}

/** Waits for the end; by then all replicas together have renewed the binding once, by 24 hours. */
async function expectOnce(replicas: readonly Replica[], scene: Scene): Promise<void> {
  const { hours } = await endOf(replicas, scene);
  const writes = replicas.flatMap(({ proxy }) => proxy.writesIn(scene.namespace));
  const renewals = writes.filter(({ call, code = 500 }) => call === RENEWAL && code < 300);
  expect([renewals.length, hours]).toEqual([1, 31]);
}

/** Returns the current leader first. */
async function inOrder([first, second]: readonly Replica[]): Promise<[Replica, Replica]> {
  if (first === undefined || second === undefined) throw new Error("two replicas are needed");
  const isLed = async (): Promise<boolean> => (await first.operator.leads()) || (await second.operator.leads());
  await until("one of the replicas to lead", isLed);
  return (await first.operator.leads()) ? [first, second] : [second, first];
}

/** Whether the replica runs, and knows that it does not lead. */
async function follows({ operator }: Replica): Promise<boolean> {
  return (await operator.probe("/healthz")).status === 200 && !(await operator.leads());
}

/** The answers of the API server to the replica's writes. */
function answers({ proxy }: Replica, { namespace }: Scene): number[] {
  return proxy.writesIn(namespace).flatMap(({ code }) => code ?? []);
}

/** Holds the first renewal of a scene before or after the API server gets it. */
class HeldRenewal {
  letGo: () => void = () => undefined;
  #isHeld = false;

  constructor({ proxy }: Replica, { namespace }: Scene, moment: "before" | "after", onHeld = () => {}) {
    const free = new Promise<void>(resolve => (this.letGo = resolve));
    const hold = async (write: Write): Promise<void> => {
      if (this.#isHeld || write.call !== RENEWAL || write.namespace !== namespace) return;
      this.#isHeld = true;
      onHeld();
      await free;
    };
    proxy.interceptor = { [moment]: hold };
  }

  reached(): Promise<void> {
    return until("a renewal", () => Promise.resolve(this.#isHeld));
  }
}
