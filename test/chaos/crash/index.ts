import { describeCall } from "../calls";
import { Rig } from "../rig";
import { scenarios } from "../scenarios";
import { type Finding, QUIET_MS, type Suite } from "../suite";
import { crashEverywhere, type CrashReport, describePoint, everywhere } from "./play";

/** Share of the points at which the operator may not have been killed. With more, the recorded run is not representative. */
const MOST_ABSENT = 1 / 4;

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
    async run({ lab, seed, print, defer }) {
      const rig = await Rig.up(lab);
      defer(() => rig.down());
      const options = { pointsOf: everywhere(seed, atMost), quietMs: QUIET_MS, print };
      const findings: Finding[] = [];
      try {
        for (const scenario of scenarios.filter(({ name }) => names?.includes(name) ?? true))
          findings.push(findingOf(await crashEverywhere(rig, scenario, options)));
      } catch (error) {
        rig.operator.complaints().forEach(line => print(`operator: ${line}`));
        throw error;
      }
      return findings;
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

/** All broken promises, one sentence each. */
function complaints({ recorded, injections, absent, quiet }: CrashReport): string[] {
  const isRecordedAmiss = absent.length > MOST_ABSENT * (absent.length + injections.length);
  return [
    ...(isRecordedAmiss ? absent.map(point => `${describePoint(point)} never came`) : []),
    ...recorded.strays.map(write => `without a crash: ${describeCall(write)} in ${write.namespace ?? ""}`),
    ...injections.flatMap(({ point, differences }) =>
      differences.map(text => `killed ${describePoint(point)}: ${text}`),
    ),
    ...quiet.writes.map(write => `idle: ${write}`),
  ];
}
