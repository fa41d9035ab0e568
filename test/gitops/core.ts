import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Lab } from "../lab";
import { logOf, mustRun } from "../lab/control-plane";
import { foldersOf } from "../lab/folders";
import { freePort } from "../lab/free-port";
import { start } from "../lab/processes";
import { type LabState, readState } from "../lab/state";
import { waitFor } from "../lab/wait";

/** The namespace of Argo CD. */
export const ARGO_NAMESPACE = "argocd";

/** Argo CD's ServiceAccount with all rights in the cluster, and the program that uses it. */
export const CONTROLLER = "argocd-application-controller";
const REPO_SERVER = "argocd-repo-server";
const REDIS = "argocd-redis";

const READY_MS = 60_000;

/**
 * Starts Argo CD's cache, repository server and application controller on this machine. They belong to the lab: they end with it, and their files
 * are in its folder.
 *
 * @param program Argo CD's program
 * @returns the address of the controller's metrics
 */
export async function startCore(lab: Lab, program: string): Promise<string> {
  const state = readState(lab.name)!;
  const folder = gitopsFolder(lab.name);
  const env = await environmentOf(lab, folder);
  const [redis, repo, repoMetrics, metrics] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const run = (name: string, ...args: string[]): Promise<void> => {
    const variables = Object.entries({ ...env, ARGOCD_BINARY_NAME: name }).map(([key, value]) => `${key}=${value}`);
    return start(state, {
      name,
      argv: ["env", ...variables, program, ...args, `--redis=127.0.0.1:${redis}`],
      group: "",
    });
  };
  await start(state, { name: REDIS, argv: redisCommand(redis, folder), group: "" });
  await run(REPO_SERVER, ...at(repo, repoMetrics), "--disable-tls");
  await answering(state, REPO_SERVER, `http://127.0.0.1:${repoMetrics}/healthz`);
  await run(
    CONTROLLER,
    ...[`--namespace=${ARGO_NAMESPACE}`, `--repo-server=127.0.0.1:${repo}`, "--repo-server-plaintext"],
    // By default it compares Applications with Git every two minutes or more.
    ...["--app-resync=20", "--app-resync-jitter=0"],
    // Puts the health of each object into the Application's status, where the tests read it.
    ...[`--metrics-port=${metrics}`, "--persist-resource-health"],
  );
  await answering(state, CONTROLLER, `http://127.0.0.1:${metrics}/healthz`);
  return `http://127.0.0.1:${metrics}/metrics`;
}

/** A folder for the files of Argo CD and for Git repositories. It goes with the lab. */
export function gitopsFolder(lab: string): string {
  return join(foldersOf(lab).folder, "gitops");
}

/** Debian's redis-server is another name of the program redis-check-rdb, and in a package that starts a service. */
function redisCommand(port: number, folder: string): string[] {
  const args = ["--bind", "127.0.0.1", "--port", `${port}`, "--save", "", "--dir", folder];
  return ["bash", "-c", 'exec -a "$0" "$@"', "redis-server", "redis-check-rdb", ...args];
}

const at = (port: number, metrics: number): string[] => [
  ...["--address=127.0.0.1", `--port=${port}`],
  ...["--metrics-address=127.0.0.1", `--metrics-port=${metrics}`],
];

/** Waits until a component answers at this address. */
export async function answering(state: LabState, component: string, url: string): Promise<void> {
  await waitFor({
    what: `${component} to be ready`,
    timeoutMs: READY_MS,
    until: async () => (await fetch(url, { signal: AbortSignal.timeout(5_000) })).ok,
    check: () => mustRun(state, component),
    log: logOf(state, component),
  });
}

async function environmentOf(lab: Lab, folder: string): Promise<Record<string, string>> {
  const temporary = join(folder, "tmp");
  mkdirSync(temporary, { recursive: true });
  const { PATH = "", NO_PROXY = "" } = lab.environment;
  return {
    ...{ PATH, NO_PROXY, no_proxy: NO_PROXY, TMPDIR: temporary },
    KUBECONFIG: await lab.serviceAccountKubeconfig(ARGO_NAMESPACE, CONTROLLER, "6h"),
    // The address of the cluster in Applications stands for the one in KUBECONFIG.
    ARGOCD_FAKE_IN_CLUSTER: "true",
    ARGOCD_CONTROLLER_REPLICAS: "1",
    ARGOCD_GPG_ENABLED: "false",
    ARGOCD_ASK_PASS_SOCK: join(folder, "ask-pass.sock"),
    ARGOCD_PLUGINSOCKFILEPATH: join(folder, "plugins"),
    ARGOCD_TLS_DATA_PATH: join(folder, "tls"),
    ARGOCD_SSH_DATA_PATH: join(folder, "ssh"),
    HOSTNAME: `${CONTROLLER}-0`,
  };
}
