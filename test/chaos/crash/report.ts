import Table from "cli-table3";
import { describeCall } from "../calls";
import { deedsOf } from "./compare";
import { type CrashReport, describePoint, type Injection } from "./play";

/** What was injected, and what was counted, for a terminal. */
export function render(reports: readonly CrashReport[]): string {
  return [table(reports), quietTable(reports)].join("\n");
}

function table(reports: readonly CrashReport[]): string {
  const head = [
    "scenario",
    "its writes",
    "done, status apart",
    "crashes before / after",
    "came to the same",
    "seconds",
  ];
  const made = new Table({
    head,
    wordWrap: true,
    colWidths: [19, 46, 48, 13, 12, 11],
    style: { head: [], border: [] },
  });
  for (const { scenario, recorded, injections } of reports) {
    const deeds = Object.entries(deedsOf(recorded.writes)).map(([name, count]) => `${count} ${name}`);
    const at = (moment: string): number => injections.filter(({ point }) => point.moment === moment).length;
    const same = injections.filter(({ differences }) => differences.length === 0).length;
    const writes = recorded.writes.map(({ method, resource }) => `${method} ${resource}`);
    made.push([
      scenario,
      writes.join("\n"),
      deeds.join("\n"),
      `${at("before")} / ${at("after")}`,
      `${same} of ${injections.length}`,
      secondsOf(injections),
    ]);
  }
  return made.toString();
}

function secondsOf(injections: readonly Injection[]): string {
  const all = injections.map(({ seconds }) => seconds);
  return all.length === 0 ? "" : `${Math.min(...all).toFixed(0)} to ${Math.max(...all).toFixed(0)}`;
}

function quietTable(reports: readonly CrashReport[]): string {
  const head = ["left alone after", "objects", "seconds", "writes", "of its Lease", "Events"];
  const made = new Table({ head, style: { head: [], border: [] } });
  for (const { scenario, quiet } of reports) {
    made.push([scenario, quiet.objects, quiet.seconds, quiet.writes.length, quiet.leases, quiet.events]);
  }
  return made.toString();
}

/** Of all points, at which the operator may not have been ended: more, and the recording describes something that does not happen. */
const MOST_ABSENT = 1 / 4;

/** What was not as promised. */
export function complaints(report: CrashReport): string[] {
  const { scenario, recorded, injections, absent, quiet } = report;
  const isRecordedAmiss = absent.length > MOST_ABSENT * (absent.length + injections.length);
  return [
    ...(isRecordedAmiss ? absent.map(point => `${scenario}: ${describePoint(point)} never came`) : []),
    ...recorded.strays.map(write => `${scenario}, without a crash: ${describeCall(write)} in ${write.namespace ?? ""}`),
    ...injections.flatMap(({ point, differences }) =>
      differences.map(text => `${scenario}, ended ${describePoint(point)}: ${text}`),
    ),
    ...quiet.writes.map(write => `${scenario}, left alone: ${write}`),
  ];
}
