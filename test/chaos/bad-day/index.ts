import { Rig } from "../rig";
import type { Finding, Stage, Suite } from "../suite";
import { Dice } from "./dice";
import { fleetFlood } from "./fleet-flood";
import { forgedEvents } from "./forged-events";
import { lostNode } from "./lost-node";
import { manyAccounts } from "./many-accounts";
import { ownedDaemonSet } from "./owned-daemon-set";
import { refusedRelease } from "./refused-release";
import { refusingBudget } from "./refusing-budget";
import { shortenedBinding } from "./shortened-binding";
import { refusedByAll, refusedByOne } from "./refused";
import { INTERVAL_S, rotation } from "./rotation";
import type { Story } from "./story";

/** Stories that change the whole cluster come first, one by one; all others happen at once. */
export const BAD_DAY: readonly Story[] = [
  refusedByAll,
  rotation,
  refusedByOne,
  lostNode,
  refusingBudget,
  refusedRelease,
  shortenedBinding,
  ownedDaemonSet,
  fleetFlood,
  forgedEvents,
  manyAccounts,
];

/** Workloads that fail at once. */
const WORKLOADS = { usual: 30, short: 12 };

/** Selects what goes wrong. */
export interface DayChoice {
  /** Names of stories; all if undefined. */
  readonly story?: readonly string[];
  /** Fewer workloads and shorter times, as part of `npm test`. */
  readonly isShort?: boolean;
}

/** The operator does no harm on a bad day, heals what can be healed, and calls a person for the rest. */
export function badDay({ story: names, isShort = false }: DayChoice = {}): Suite {
  return {
    name: "bad-day",
    about: "refused requests, a key rotation, lost nodes, refused writes, floods and forged Events, all on one day",
    async run(stage) {
      const rig = await Rig.up(stage.lab, { RESILIENCE_RESTART_INTERVAL_SECONDS: String(INTERVAL_S) });
      stage.defer(() => rig.down());
      const stories = new Dice(stage.seed).shuffled(BAD_DAY).filter(({ name }) => names?.includes(name) ?? true);
      try {
        return await tellAll(rig, stage, stories, isShort);
      } finally {
        for (const line of rig.operator.complaints()) stage.print(`operator: ${line}`);
      }
    },
  };
}

async function tellAll(rig: Rig, stage: Stage, stories: readonly Story[], isShort: boolean): Promise<Finding[]> {
  const { lab, seed } = stage;
  const workloads = WORKLOADS[isShort ? "short" : "usual"];
  const tell = async (story: Story): Promise<Finding> => {
    const print = (line: string): void => stage.print(`${story.name}: ${line}`);
    const finding = await story
      .tell({ lab, rig, dice: new Dice(seed, story.name), print, workloads, isShort })
      .catch(unfinished(story));
    print(finding.failures.length === 0 ? finding.seen : `FAILED ${finding.failures.join("; ")} (${finding.seen})`);
    return finding;
  };
  const findings: Finding[] = [];
  for (const story of stories.filter(({ isAlone }) => isAlone)) findings.push(await tell(story));
  return [...findings, ...(await Promise.all(stories.filter(({ isAlone }) => !isAlone).map(tell)))];
}

/** A story that cannot end does not hide what the others found. */
function unfinished({ name }: Story): (error: unknown) => Finding {
  return error => ({
    fault: name,
    times: 1,
    promised: "an end",
    seen: "none",
    failures: [error instanceof Error ? error.message : String(error)],
  });
}
