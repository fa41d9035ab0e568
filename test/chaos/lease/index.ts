import { leaveAlone, quietFinding } from "../quiet";
import { Rig } from "../rig";
import { type Finding, quietMs, type Suite } from "../suite";
import { LEASE_FAULTS } from "./faults";
import { collide, lose, type Loss } from "./play";

/** The leader can't renew its Lease: it stops leading before another leads, the process stays, and leads again afterwards. */
export const lease: Suite = {
  name: "lease",
  about: "keep the leader from its Lease: by a starved priority level, without rights, by 429, by silence",
  async run({ lab, isFull, print, defer }) {
    const rig = await Rig.up(lab);
    defer(() => rig.down());
    const findings: Finding[] = [];
    const note = (loss: Loss, promised: string): void => {
      const seen = describe(loss);
      print(`${loss.fault}: ${seen}; ${loss.failures.length === 0 ? "as promised" : loss.failures.join("; ")}`);
      findings.push({ fault: `the Lease: ${loss.fault}`, times: 1, promised, seen, failures: loss.failures });
    };
    for (const fault of LEASE_FAULTS) {
      const promised =
        "stops before another leads, writes nothing, stays alive and ready, asks less often, leads again";
      note(await lose(rig, lab, fault), promised);
    }
    note(await collide(rig, lab), "stays ready, and leads at the end");
    return [...findings, quietFinding("lease", await leaveAlone([rig.proxy], quietMs({ isFull })))];
  },
};

function describe({ counted, asked, seconds, codes }: Loss): string {
  const answers = Object.entries(codes).map(([code, times]) => `${times} x ${code}`);
  const list = answers.length === 0 ? "none" : answers.join(", ");
  return `${counted}; answers to the leader: ${list}; ${asked} requests in ${seconds.toFixed(0)} s`;
}
