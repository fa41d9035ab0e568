import Table from "cli-table3";
import type { Finding } from "./suite";

/** All findings as a table, and below it one line for each thing that was not as promised. */
export function renderFindings(findings: readonly Finding[]): string {
  const head = ["fault", "times", "promised", "seen"];
  const made = new Table({
    head,
    wordWrap: true,
    colWidths: [44, 7, 44, 60],
    style: { head: [], border: [] },
  });
  for (const { fault, times, promised, seen, failures } of findings) {
    made.push([fault, times, promised, failures.length === 0 ? seen : `FAILED. ${seen}`]);
  }
  const failures = findings.flatMap(({ fault, failures: of }) => of.map(line => `FAILED ${fault}: ${line}`));
  return [made.toString(), ...failures].join("\n");
}
