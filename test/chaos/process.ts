import { setTimeout as sleep } from "node:timers/promises";
import type { OperatorProcess } from "../operator/process";
import { type Call, describeCall } from "./calls";
import { leaveAlone, quietFinding } from "./quiet";
import { LEASE, type Replica, Rig } from "./rig";
import { type Scene, says, type State, until } from "./scenario";
import { bindingRenewal } from "./scenarios/binding-renewal";
import { untilSettled } from "./settle";
import { type Finding, QUIET_MS, type Suite } from "./suite";

// What the simulation cannot do to a leader: real signals, and real connections that break. The leader renews a binding meanwhile.

const RENEWAL = "PATCH rolebindings";

/** How long an answer is delayed while the operator exits, in milliseconds. */
const HELD_MS = 2_000;
/** A process that has not exited after this time is killed; in milliseconds. */
const PATIENCE_MS = 60_000;
/** Longer than a pass that a process begins or continues when it wakes up, in milliseconds. */
const AWAKE_MS = 5_000;
const LOOK_MS = 200;

/** Signals to the leader in the middle of a write, and a network that breaks. */
export const processes: Suite = {
  name: "process",
  about: "stop the leader (SIGTERM) or freeze it (SIGSTOP) in the middle of a write; break its connections",
  async run({ lab, print, defer }) {
    const rig = await Rig.up(lab);
    defer(() => rig.down());
    const findings = [await terminate(rig)];
    const pair = [rig, await rig.replica()];
    findings.push(await freeze(rig, pair), await cutOff(rig, pair));
    findings.forEach(({ fault, seen }) => print(`${fault}: ${seen}`));
    const proxies = pair.map(({ proxy }) => proxy);
    return [...findings, quietFinding("process", await leaveAlone(proxies, QUIET_MS))];
  },
};

/** Stops the leader with SIGTERM while a renewal is in flight; another process takes over. */
export async function terminate(rig: Rig): Promise<Finding> {
  const scene = await prepared(rig, [rig]);
  const renewal = new HeldRenewal(rig, scene, "after");
  await bindingRenewal.trigger(scene);
  await renewal.reached();
  void sleep(HELD_MS).then(renewal.letGo);
  const { ms, exitCode } = await exitOf(rig.operator);
  rig.proxy.interceptor = {};
  await rig.proxy.settled();
  const { spec } = await scene.admin.get<{ spec: { holderIdentity?: string } }>(LEASE);
  const state = await bindingRenewal.describe(scene);
  await rig.succeed();
  return findingOf("SIGTERM while a renewal is in flight", {
    // It exits with 1 if its shutdown takes longer than five seconds.
    promised: "exits within 5 s with code 0, records the renewal, releases the Lease; renewed once",
    seen: `exited after ${ms.toFixed(0)} ms`,
    checks: [
      [exitCode !== 0, `exit code ${exitCode ?? "none"}`],
      [(spec.holderIdentity ?? "") !== "", `the Lease is still held by ${spec.holderIdentity}`],
      [!says(state, "BindingsCurrent", "Current"), `status does not record the renewal: ${JSON.stringify(state)}`],
      ...notOnce([rig], await endOf([rig], scene)),
    ],
  });
}

/** Freezes the leader before its renewal reaches the API server, until another replica has done the work. */
export async function freeze(rig: Rig, pair: readonly Replica[]): Promise<Finding> {
  const [leader, other] = await inOrder(pair);
  const scene = await prepared(rig, pair);
  const renewal = new HeldRenewal(leader, scene, "before", () => leader.operator.signal("SIGSTOP"));
  await bindingRenewal.trigger(scene);
  await renewal.reached();
  await until("the other replica to lead", () => other.operator.leads());
  await endOf(pair, scene);
  const before = answers(leader).length;
  renewal.letGo();
  leader.operator.signal("SIGCONT");
  await until("the first replica to follow", () => follows(leader));
  await until("the late renewal to be answered", () => Promise.resolve(answers(leader).length > before));
  await sleep(AWAKE_MS);
  leader.proxy.interceptor = {};
  const late = answers(leader).slice(before);
  return findingOf("the leader is frozen until its Lease has expired, and wakes up", {
    promised: "the binding is renewed once; the late renewal is refused, and nothing else is written",
    seen: `answers to its writes after it woke up: ${late.join(", ")}`,
    checks: [
      [late.length !== 1 || late[0]! < 400, `answers to its writes after it woke up: ${late.join(", ") || "none"}`],
      ...notOnce(pair, await endOf(pair, scene)),
    ],
  });
}

/** Breaks all connections of the leader until another replica has done the work. */
export async function cutOff(rig: Rig, pair: readonly Replica[]): Promise<Finding> {
  const [leader, other] = await inOrder(pair);
  const scene = await prepared(rig, pair);
  const together = watchLeaders(pair);
  const startedMs = performance.now();
  const accept = leader.proxy.cutOff();
  await bindingRenewal.trigger(scene);
  await until("the other replica to lead", () => other.operator.leads());
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
  await endOf(pair, scene);
  await accept();
  await until("the first replica to be Ready", async () => (await leader.operator.probe("/readyz")).status === 200);
  await sleep(AWAKE_MS);
  return findingOf("the connections of the leader break", {
    promised: "the standby takes over and stays leader; never two leaders; the binding is renewed once",
    seen: `taken over after ${seconds} s`,
    checks: [
      [await together(), "both replicas led at the same time"],
      [!(await follows(leader)) || !(await other.operator.leads()), "the first replica leads again"],
      ...notOnce(pair, await endOf(pair, scene)),
    ],
  });
}

type Check = readonly [isBroken: boolean, text: string];

function findingOf(
  fault: string,
  { checks, ...rest }: Pick<Finding, "promised" | "seen"> & { readonly checks: readonly Check[] },
): Finding {
  return { fault, times: 1, ...rest, failures: checks.flatMap(([isBroken, text]) => (isBroken ? [text] : [])) };
}

/** A scene with a binding that is due as soon as it is asked for. */
async function prepared(rig: Rig, replicas: readonly Replica[]): Promise<Scene> {
  const scene = await rig.scene("process");
  await bindingRenewal.prepare(scene);
  for (const { proxy } of replicas) proxy.watch(scene.namespace);
  return scene;
}

/** Waits for the final state; throws if there is none. */
async function endOf(replicas: readonly Replica[], scene: Scene): Promise<State> {
  const writes = (): number => replicas.reduce((sum, { proxy }) => sum + proxy.writes.length, 0);
  const { state, trouble } = await untilSettled(bindingRenewal, scene, writes);
  if (trouble !== undefined) throw new Error(trouble);
  return state;
}

/** The binding must be renewed by 24 hours, and once by all replicas together. */
function notOnce(replicas: readonly Replica[], { hours }: State): Check[] {
  const writes = replicas.flatMap(({ proxy }) => proxy.writes);
  const times = writes.filter(write => describeCall(write) === RENEWAL && (write.code ?? 500) < 300).length;
  return [
    [times !== 1, `the binding was renewed ${times} times`],
    [hours !== 31, `the binding lives for ${String(hours)} hours`],
  ];
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
function answers({ proxy }: Replica): number[] {
  return proxy.writes.flatMap(({ code }) => code ?? []);
}

/** Polls all replicas until called; then returns whether two led at the same time. */
function watchLeaders(replicas: readonly Replica[]): () => Promise<boolean> {
  let [isOver, wereTwo] = [false, false];
  const look = async (): Promise<void> => {
    while (!isOver) {
      const leading = await Promise.all(replicas.map(({ operator }) => operator.leads()));
      wereTwo ||= leading.every(Boolean);
      await sleep(LOOK_MS);
    }
  };
  const looking = look();
  return async () => {
    isOver = true;
    await looking;
    return wereTwo;
  };
}

async function exitOf(operator: OperatorProcess): Promise<{ ms: number; exitCode: number | undefined }> {
  const startedMs = performance.now();
  operator.signal("SIGTERM");
  while (operator.exitCode === undefined && performance.now() - startedMs < PATIENCE_MS) await sleep(5);
  const [ms, { exitCode }] = [performance.now() - startedMs, operator];
  if (exitCode === undefined) operator.signal("SIGKILL");
  return { ms, exitCode };
}

/** Holds the first renewal of a scene before or after the API server gets it. */
class HeldRenewal {
  letGo: () => void = () => undefined;
  #isHeld = false;

  constructor({ proxy }: Replica, { namespace }: Scene, moment: "before" | "after", onHeld = () => {}) {
    const free = new Promise<void>(resolve => (this.letGo = resolve));
    const hold = async (call: Call): Promise<void> => {
      if (this.#isHeld || describeCall(call) !== RENEWAL || call.namespace !== namespace) return;
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
