import { leaveAlone, quietFinding } from "../quiet";
import { Rig } from "../rig";
import { type Finding, quietMs, type Suite } from "../suite";
import { momentsOf } from "./moments";
import { stopAt, type Stopped, stopWaiting } from "./play";

/** SIGTERM at any moment: what has begun is finished and accounted for, the Lease is handed back, and that takes less than five seconds. */
export const shutdown: Suite = {
  name: "shutdown",
  about:
    "end the operator by SIGTERM in the middle of reading, of writing, of following, and while it waits for its Lease",
  async run({ lab, seed, isFull, print, defer }) {
    const rig = await Rig.up(lab);
    defer(() => rig.down());
    const all: Stopped[] = [];
    const note = (stopped: Stopped): void => {
      all.push(stopped);
      const { moment, ms, failures } = stopped;
      print(`${moment}: ended in ${ms.toFixed(0)} ms: ${failures.length === 0 ? "as promised" : failures.join("; ")}`);
    };
    for (const moment of momentsOf(seed)) note(await stopAt(rig, moment));
    note(await stopWaiting(rig));
    return [findingOf(all), quietFinding("shutdown", await leaveAlone([rig.proxy], quietMs({ isFull })))];
  },
};

function findingOf(all: readonly Stopped[]): Finding {
  const times = all.map(({ ms }) => ms / 1000);
  return {
    fault: `SIGTERM, and answers that are late by 2 s: ${all.map(({ moment }) => moment).join("; ")}`,
    times: all.length,
    promised: "ends in under 5 s with code 0, what it did is accounted for and done once, the Lease is free",
    seen: `${Math.min(...times).toFixed(1)} to ${Math.max(...times).toFixed(1)} s`,
    failures: all.flatMap(({ moment, failures }) => failures.map(text => `${moment}: ${text}`)),
  };
}
