import { join } from "node:path";
import { must } from "../lab/commands";
import { built, type GoProgram } from "../lab/go-build";
import type { Progress } from "../lab/progress";

/** What kstatus says of an object, or why it cannot. */
export interface Judgement {
  /** Current, InProgress, Failed or Terminating. */
  readonly status?: string;
  readonly message?: string;
  readonly error?: string;
}

/** kstatus, by which Flux and kpt wait for objects. */
const JUDGE: GoProgram = {
  name: "kstatus-judge",
  version: "v0.37.2",
  sources: join(__dirname, "judge"),
  package: ".",
  ldflags: "-s -w",
};

/** Builds the program that runs kstatus, if necessary, which takes less than a minute. Returns a function that judges objects. */
export async function kstatus(progress: Progress): Promise<(objects: readonly object[]) => Promise<Judgement[]>> {
  const program = await built(JUDGE, "kstatus", progress);
  return async objects => JSON.parse(await must([program], { stdin: JSON.stringify(objects) })) as Judgement[];
}
