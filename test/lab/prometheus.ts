import { type CommandResult, run } from "./commands";
import { ensurePackages, type Requirement } from "./packages";
import { type Progress, silent } from "./progress";

/** Prometheus and promtool, from the distribution: building them takes many minutes. */
const PROMETHEUS: Requirement = { package: "prometheus", files: ["prometheus", "promtool"] };

/** Ensures that Prometheus is installed. */
export async function ensurePrometheus(progress: Progress = silent): Promise<void> {
  await ensurePackages([PROMETHEUS], progress);
}

/** Runs promtool to its end. */
export async function promtool(args: readonly string[], stdin = ""): Promise<CommandResult> {
  await ensurePrometheus();
  return run(["promtool", ...args], { stdin });
}
