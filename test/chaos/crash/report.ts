import Table from "cli-table3";
import { describeCall } from "../calls";
import { actionsOf } from "./compare";
import { type CrashReport, describePoint, type Injection } from "./play";

/** Formats the injections and counts for a terminal. */
export function render(reports: readonly CrashReport[]): string {
  return [table(reports), quietTable(reports)].join("\n");
}

function table(reports: readonly CrashReport[]): string {
  const head = [
    "scenario",
    "its writes",
    "writes, without status",
    "crashes before / after",
    "same end state",
    "seconds",
  ];
  const made = new Table({
    head,
    wordWrap: true,
    colWidths: [19, 46, 48, 13, 12, 11],
    style: { head: [], border: [] },
  });
  for (const { scenario, recorded, injections } of reports) {
    const actions = Object.entries(actionsOf(recorded.writes)).map(([name, count]) => `${count} ${name}`);
    const at = (moment: string): number => injections.filter(({ point }) => point.moment === moment).length;
    const same = injections.filter(({ differences }) => differences.length === 0).length;
    const writes = recorded.writes.map(({ method, resource }) => `${method} ${resource}`);
    made.push([
      scenario,
      writes.join("\n"),
      actions.join("\n"),
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
  const head = ["idle after", "objects", "seconds", "writes", "Lease writes", "Events"];
  const made = new Table({ head, style: { head: [], border: [] } });
  for (const { scenario, quiet } of reports) {
    made.push([scenario, quiet.objects, quiet.seconds, quiet.writes.length, quiet.leases, quiet.events]);
  }
  return made.toString();
}

/** Share of the points at which the operator may not have been killed. With more, the recorded run is not representative. */
const MOST_ABSENT = 1 / 4;

/** All broken promises, one sentence each. */
export function complaints(report: CrashReport): string[] {
  const { scenario, recorded, injections, absent, quiet } = report;
  const isRecordedAmiss = absent.length > MOST_ABSENT * (absent.length + injections.length);
  return [
    ...(isRecordedAmiss ? absent.map(point => `${scenario}: ${describePoint(point)} never came`) : []),
    ...recorded.strays.map(write => `${scenario}, without a crash: ${describeCall(write)} in ${write.namespace ?? ""}`),
    ...injections.flatMap(({ point, differences }) =>
      differences.map(text => `${scenario}, killed ${describePoint(point)}: ${text}`),
    ),
    ...quiet.writes.map(write => `${scenario}, idle: ${write}`),
  ];
}
