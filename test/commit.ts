import { execFileSync } from "node:child_process";

/** A number that is the same for the same commit, so that what is random in its tests can be run again. */
export function commitNumber(): number {
  const commit = execFileSync("git", ["rev-parse", "--short=7", "HEAD"], { cwd: __dirname, encoding: "utf8" });
  return Number.parseInt(commit.slice(0, 7), 16);
}
