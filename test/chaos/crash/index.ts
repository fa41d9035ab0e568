import { Rig } from "../rig";
import { scenarios } from "../scenarios";
import { type Finding, quietMs, type Suite } from "../suite";
import { crashEverywhere, type CrashReport, everywhere } from "./play";
import { complaints, render } from "./report";

/** Selects the crashes. */
export interface CrashChoice {
  /** Names of scenarios; all if undefined. */
  readonly scenario?: readonly string[];
  /** Number of crashes of each scenario, chosen by the seed; all if undefined. */
  readonly atMost?: number;
}

/** Kills the operator before and after each single write of each scenario. */
export function crash({ scenario: names, atMost }: CrashChoice = {}): Suite {
  return {
    name: names?.length === 1 ? `crash ${names.join("")}` : "crash",
    about: "kill the operator before and after each single write of each scenario",
    async run({ lab, seed, print, defer, isFull }) {
      const rig = await Rig.up(lab);
      defer(() => rig.down());
      const options = { pointsOf: everywhere(seed, atMost), quietMs: quietMs({ isFull }), print };
      const reports: CrashReport[] = [];
      try {
        for (const scenario of scenarios) {
          if (names?.includes(scenario.name) ?? true) reports.push(await crashEverywhere(rig, scenario, options));
        }
      } catch (error) {
        rig.operator.complaints().forEach(line => print(`operator: ${line}`));
        throw error;
      } finally {
        if (reports.length > 0) print(render(reports));
      }
      return reports.map(findingOf);
    },
  };
}

function findingOf(report: CrashReport): Finding {
  const { scenario, recorded, injections, absent, quiet } = report;
  const missing = absent.length === 0 ? "" : `; ${absent.length} never came again`;
  const same = injections.filter(({ differences }) => differences.length === 0).length;
  return {
    fault: `${scenario}: killed around each of ${recorded.writes.length} writes`,
    times: injections.length,
    promised: "the same end state, no action repeated, no writes afterwards",
    seen: `the same ${same} times${missing}; ${quiet.writes.length} writes in ${quiet.seconds} s afterwards`,
    failures: complaints(report),
  };
}
