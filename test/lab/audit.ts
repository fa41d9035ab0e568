import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { foldersOf } from "./folders";
import type { LabState } from "./state";

/** MiB after which the API server begins another file. Above what any measurement writes, so that one file has it all. */
const MAX_MIB = 2_000;

/** The file of the API server's audit log, one JSON object per line. */
export function auditLogOf(name: string): string {
  return join(foldersOf(name).logs, "audit.log");
}

/** The arguments by which the API server records the requests of the lab's audited users; none without such users. Writes the policy. */
export function auditArgs({ name, auditedUsers }: LabState): string[] {
  if (auditedUsers === undefined) return [];
  const policy = join(foldersOf(name).folder, "audit-policy.json");
  writeFileSync(policy, JSON.stringify(auditPolicy(auditedUsers), undefined, 2));
  return [
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${auditLogOf(name)}`,
    `--audit-log-maxsize=${MAX_MIB}`,
    // Written before the response ends: a request that its client has seen answered is in the file.
    "--audit-log-mode=blocking",
  ];
}

/** Records only who asked for what, and only for these users. */
function auditPolicy(users: readonly string[]): object {
  return {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [{ level: "Metadata", users }, { level: "None" }],
  };
}
