import { readdirSync, readFileSync } from "node:fs";

/** Returns the process of a program in a pod: containers of the lab are processes of this machine, with the name of their pod as HOSTNAME. */
export function processIn(pod: string, program: string): number {
  const found = readdirSync("/proc").filter(entry => /^\d+$/.test(entry) && isIn(entry, pod, program));
  if (found.length !== 1) throw new Error(`expected one process ${program} in pod ${pod}, got ${found.length}`);
  return Number(found[0]);
}

/** A process may end while it is looked at. */
function isIn(id: string, pod: string, program: string): boolean {
  try {
    const [command = ""] = readFileSync(`/proc/${id}/cmdline`, "utf8").split("\0");
    const variables = readFileSync(`/proc/${id}/environ`, "utf8").split("\0");
    return command.endsWith(program) && variables.includes(`HOSTNAME=${pod}`);
  } catch {
    return false;
  }
}
