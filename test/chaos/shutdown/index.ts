import { leaveAlone, quietFinding } from "../quiet";
import { Rig } from "../rig";
import { type Finding, quietMs, type Suite } from "../suite";
import { momentsOf } from "./moments";
import { stopAt, type Stopped, stopWaiting } from "./play";

/** Sends SIGTERM at any moment: work in progress is finished and recorded, the Lease is released, and the process exits within five seconds. */
export const shutdown: Suite = {
  name: "shutdown",
  about: "stop the operator with SIGTERM while it reads, writes, watches a rollout, or waits for the Lease",
  async run({ lab, seed, isFull, print, defer }) {
    const rig = await Rig.up(lab);
    defer(() => rig.down());
    const all: Stopped[] = [];
    const note = (stopped: Stopped): void => {
      all.push(stopped);
      const { moment, ms, failures } = stopped;
      print(
        `${moment}: exited in ${ms.toFixed(0)} ms: ${failures.length === 0 ? "all promises kept" : failures.join("; ")}`,
      );
    };
    for (const moment of momentsOf(seed)) note(await stopAt(rig, moment));
    note(await stopWaiting(rig));
    return [findingOf(all), quietFinding("shutdown", await leaveAlone([rig.proxy], quietMs({ isFull })))];
  },
};

function findingOf(all: readonly Stopped[]): Finding {
  const times = all.map(({ ms }) => ms / 1000);
  return {
    fault: `SIGTERM with answers delayed by 2 s: ${all.map(({ moment }) => moment).join("; ")}`,
    times: all.length,
    promised: "exits in under 5 s with code 0; actions are recorded and not repeated; the Lease is free",
    seen: `${Math.min(...times).toFixed(1)} to ${Math.max(...times).toFixed(1)} s`,
    failures: all.flatMap(({ moment, failures }) => failures.map(text => `${moment}: ${text}`)),
  };
}
