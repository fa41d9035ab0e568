import { join } from "node:path";
import { type CommandResult, run } from "./commands";
import { cacheFolder } from "./folders";
import { built, type GoProgram } from "./go-build";
import { type Progress, silent } from "./progress";

/** Helm, which renders and installs the chart in deploy/. It uses the control plane's Kubernetes libraries, so most of it is built already. */
const HELM_4: GoProgram = {
  name: "helm",
  version: "v4.2.4",
  sources: join(__dirname, "helm"),
  package: "helm.sh/helm/v4/cmd/helm",
  ldflags: "-s -w",
};

/** The Helm that many still use: `npm run test:helm3` installs the chart with it. */
const HELM_3: GoProgram = {
  name: "helm",
  version: "v3.22.0",
  sources: join(__dirname, "helm3"),
  package: "helm.sh/helm/v3/cmd/helm",
  ldflags: "-s -w",
};

/** The variable that names another major version of Helm. */
const HELM_VARIABLE = "LAB_HELM";

/** The Helm that the environment asks for, or version 4. @throws Error for an unknown version */
export function helmProduct(env: NodeJS.ProcessEnv = process.env): GoProgram {
  const major = env[HELM_VARIABLE] ?? "";
  if (major === "" || major === "4") return HELM_4;
  if (major === "3") return HELM_3;
  throw new Error(`expected ${HELM_VARIABLE} to be 3 or 4, got "${major}"`);
}

/** An upgrade waits for a rollout. */
const TIMEOUT_MS = 300_000;

/** Returns the path of Helm; builds it if necessary. */
export function helmProgram(progress: Progress = silent): Promise<string> {
  return built(helmProduct(), "helm", progress);
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
