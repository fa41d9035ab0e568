import Table from "cli-table3";
import type { Finding } from "./suite";

/** Formats all findings as a table, followed by one line for each broken promise. */
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
