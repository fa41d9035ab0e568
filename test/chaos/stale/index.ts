import { leaveAlone, quietFinding } from "../quiet";
import { Rig } from "../rig";
import { type Finding, quietMs, type Suite } from "../suite";
import { type Seen, tell } from "./play";
import { type Story, STORIES } from "./stories";

/** The API server shows a list as it was before the operator acted: nothing is done again, or undone. */
export const stale: Suite = {
  name: "stale",
  about: "show the operator lists from before what it has done: while it does it, by a new list, and after a new start",
  async run({ lab, isFull, print, defer }) {
    const rig = await Rig.up(lab);
    defer(() => rig.down());
    const findings: Finding[] = [];
    for (const story of STORIES) {
      const seen = await tell(rig, story);
      for (const { way, shown, refused, failures } of seen) {
        const result = failures.length === 0 ? "nothing was done again" : failures.join("; ");
        print(`${story.name}, ${way}: ${result} (the old list shown ${shown} times, ${refused} writes refused)`);
      }
      findings.push(findingOf(story, seen));
    }
    return [...findings, quietFinding("stale", await leaveAlone([rig.proxy], quietMs({ isFull })))];
  },
};

function findingOf({ name, deed }: Story, seen: readonly Seen[]): Finding {
  const shown = seen.reduce((sum, one) => sum + one.shown, 0);
  const refused = seen.reduce((sum, one) => sum + one.refused, 0);
  return {
    fault: `${name}, and lists say that it was not (${seen.map(({ way }) => way).join("; ")})`,
    times: seen.length,
    promised: `one ${deed}, and the same state once it has caught up`,
    seen: `${shown} old lists; ${refused} writes refused by the API server`,
    failures: seen.flatMap(({ way, failures }) => failures.map(text => `${way}: ${text}`)),
  };
}
