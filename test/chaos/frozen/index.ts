import { leaveAlone, quietFinding } from "../quiet";
import { Rig } from "../rig";
import { type Finding, quietMs, type Suite } from "../suite";
import { freeze, type Frozen } from "./play";
import { describePoint, ONCE, pointsOf } from "./points";

/** Freezes the leader of two replicas during a remedy until its Lease has expired; it wakes up after the other has taken over. */
export const frozen: Suite = {
  name: "frozen",
  about: "freeze the leader of two replicas during an action until its Lease has expired, then wake it up",
  async run({ lab, seed, isFull, print, defer }) {
    const rig = await Rig.up(lab);
    defer(() => rig.down());
    const pair = [rig, await rig.replica()];
    const all: Frozen[] = [];
    for (const point of pointsOf(seed, isFull)) {
      const startedMs = performance.now();
      const one = await freeze(rig, pair, point);
      all.push(one);
      const { sent, refused } = one.afterwards;
      const seen = one.failures.length === 0 ? "done once" : `NOT: ${one.failures.join("; ")}`;
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
      print(`${describePoint(point)}: ${seen}; after it woke up ${sent} writes, ${refused} refused (${seconds} s)`);
    }
    const quiet = await leaveAlone(
      pair.map(({ proxy }) => proxy),
      quietMs({ isFull }),
    );
    return [
      ...ONCE.map(({ scenario, action }) => findingOf(scenario.name, action, all)),
      quietFinding("frozen", quiet),
    ];
  },
};

function findingOf(name: string, action: string, all: readonly Frozen[]): Finding {
  const own = all.filter(({ point }) => point.scenario === name);
  const good = own.filter(({ failures }) => failures.length === 0).length;
  const sent = own.reduce((sum, { afterwards }) => sum + afterwards.sent, 0);
  const refused = own.reduce((sum, { afterwards }) => sum + afterwards.refused, 0);
  return {
    fault: `${name}: the leader is frozen past its Lease, and wakes up`,
    times: own.length,
    promised: `exactly one ${action} by the two replicas together`,
    seen: `exactly one in ${good} runs; of ${sent} writes after it woke up ${refused} were refused`,
    failures: own.flatMap(({ point, failures }) => failures.map(text => `${describePoint(point)}: ${text}`)),
  };
}
