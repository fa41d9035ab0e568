import { leaveAlone, quietFinding } from "../quiet";
import { Rig } from "../rig";
import { type Finding, quietMs, type Suite } from "../suite";
import { type Seen, tell } from "./play";
import { type Story, STORIES } from "./stories";

/** The API server returns lists from before the operator's action: no action is repeated or undone. */
export const stale: Suite = {
  name: "stale",
  about: "show the operator lists from before its action: during the action, at a relist, and after a restart",
  async run({ lab, isFull, print, defer }) {
    const rig = await Rig.up(lab);
    defer(() => rig.down());
    const findings: Finding[] = [];
    for (const story of STORIES) {
      const seen = await tell(rig, story);
      for (const { way, shown, refused, failures } of seen) {
        const result = failures.length === 0 ? "no action repeated" : failures.join("; ");
        print(`${story.name}, ${way}: ${result} (the old view shown ${shown} times, ${refused} writes refused)`);
      }
      findings.push(findingOf(story, seen));
    }
    return [...findings, quietFinding("stale", await leaveAlone([rig.proxy], quietMs({ isFull })))];
  },
};

function findingOf({ name, action }: Story, seen: readonly Seen[]): Finding {
  const shown = seen.reduce((sum, one) => sum + one.shown, 0);
  const refused = seen.reduce((sum, one) => sum + one.refused, 0);
  return {
    fault: `${name}, but stale lists do not show it (${seen.map(({ way }) => way).join("; ")})`,
    times: seen.length,
    promised: `one ${action}, and the same state once the lists are current`,
    seen: `${shown} stale views; ${refused} writes refused by the API server`,
    failures: seen.flatMap(({ way, failures }) => failures.map(text => `${way}: ${text}`)),
  };
}
