import { join } from "node:path";
import { type CommandResult, run } from "./commands";
import { cacheFolder } from "./folders";
import { built, type GoProgram } from "./go-build";
import { type Progress, silent } from "./progress";

/** Helm, which renders and installs the chart in deploy/. It uses the control plane's Kubernetes libraries, so most of it is built already. */
export const HELM: GoProgram = {
  name: "helm",
  version: "v4.2.4",
  sources: join(__dirname, "helm"),
  package: "helm.sh/helm/v4/cmd/helm",
  ldflags: "-s -w",
};

/** An upgrade waits for a rollout. */
const TIMEOUT_MS = 300_000;

/** Returns the path of Helm; builds it if necessary. */
export function helmProgram(progress: Progress = silent): Promise<string> {
  return built(HELM, "helm", progress);
}

/** Runs Helm to its end, without the user's own plugins, repositories and settings. */
export async function helm(
  args: readonly string[],
  { progress = silent, env = process.env }: { progress?: Progress; env?: NodeJS.ProcessEnv } = {},
): Promise<CommandResult> {
  const program = await helmProgram(progress);
  const home = join(cacheFolder(), "helm-home");
  const homes = { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
  return run([program, ...args], { timeoutMs: TIMEOUT_MS, env: { ...env, ...homes } });
}
