import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { eventually } from "../../cluster/admin";
import type { Fault } from "../fault";
import { leads } from "../rig";
import type { Finding } from "../suite";
import { change, ACTIONS, prepare, remove, whileFailing } from "./churn";
import { untilActedOn } from "./pictures";
import { untilDone } from "./watch-faults";
import type { Replica, World } from "./world";

/** How the leader is cut off. In both ways none of its requests reach the API server. */
export const CUTS: readonly Fault[] = ["unreachable", "reset"];

/** Until another replica leads and has acted on everything; in milliseconds. */
const TAKEN_OVER_MS = 60_000;
const PATIENCE_MS = 180_000;

/** Wait after the cut before looking for the leader: longer than a candidate's interval between two reads of the Lease. In milliseconds. */
const BACK_MS = 20_000;
const LOOK_MS = 200;

/** Cuts the leader off while objects change: the other replica takes over, and the first is a standby when it is back. */
export async function playCutOff(world: World, cut: Fault): Promise<Finding> {
  const [leader, follower] = await rolesOf(world.replicas);
  const scene = await world.scene("cut-off");
  await prepare(scene);
  const unseen = await untilActedOn(scene, leader, PATIENCE_MS);
  if (unseen.length > 0) throw new Error(`before the cut: ${unseen.join("; ")}`);
  const together = watchLeaders(world.replicas);
  const startedMs = performance.now();
  leader.proxy.begin(cut);
  await change(scene);
  const isTakenOver = await eventually(() => isLeader(follower), Boolean, TAKEN_OVER_MS);
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  // A new leader counts no failure of long before its first pass.
  const missed = await whileFailing(scene, () => untilActedOn(scene, follower, PATIENCE_MS));
  leader.proxy.end();
  const isBack = await eventually(() => isReady(leader), Boolean, PATIENCE_MS);
  await sleep(BACK_MS);
  const actions = await untilDone(() => world.actionsIn(scene.namespace));
  const failures = [
    ...(isTakenOver ? [] : ["the other replica did not take over"]),
    ...missed,
    ...(isBack ? [] : ["the first replica is not Ready again"]),
    ...((await isLeader(leader)) || !(await isLeader(follower)) ? ["the first replica leads again"] : []),
    ...((await together()) ? ["both replicas led at the same time"] : []),
    ...(isDeepStrictEqual(actions, ACTIONS)
      ? []
      : [`done ${JSON.stringify(actions)}, and not ${JSON.stringify(ACTIONS)}`]),
  ];
  await remove(scene);
  return {
    fault: `the leader of two replicas is cut off: ${cut === "reset" ? "connections break" : "silence"}`,
    times: 1,
    promised: "the standby takes over and stays leader; never two leaders, no action repeated",
    seen: `taken over after ${seconds} s; all changes acted on; the first replica is Ready again, as a standby`,
    failures,
  };
}

/** Returns the leader and the standby. */
async function rolesOf(replicas: readonly Replica[]): Promise<[Replica, Replica]> {
  const [one, other] = replicas;
  if (one === undefined || other === undefined) throw new Error("two replicas are needed");
  return (await isLeader(one)) ? [one, other] : [other, one];
}

async function isLeader({ operator }: Replica): Promise<boolean> {
  return leads((await operator.probe("/metrics")).text);
}

async function isReady({ operator }: Replica): Promise<boolean> {
  return (await operator.probe("/readyz")).status === 200;
}

/** Polls all replicas until called; then returns whether two led at the same time. */
function watchLeaders(replicas: readonly Replica[]): () => Promise<boolean> {
  let isOver = false;
  let wereTwo = false;
  const look = async (): Promise<void> => {
    while (!isOver) {
      const leading = await Promise.all(replicas.map(isLeader));
      wereTwo ||= leading.filter(Boolean).length > 1;
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
