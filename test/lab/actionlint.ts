import { join } from "node:path";
import { type CommandResult, run } from "./commands";
import { built, type GoProgram } from "./go-build";

/** Checks workflows of GitHub: keys, expressions, and the shell of their steps as far as shellcheck is installed. */
const ACTIONLINT: GoProgram = {
  name: "actionlint",
  version: "v1.7.12",
  sources: join(__dirname, "actionlint"),
  package: "github.com/rhysd/actionlint/cmd/actionlint",
  ldflags: "-s -w",
};

/** Runs actionlint to its end; builds it if necessary, which takes half a minute. */
export async function actionlint(files: readonly string[]): Promise<CommandResult> {
  return run([await built(ACTIONLINT, "actionlint", () => undefined), "-no-color", ...files]);
}
