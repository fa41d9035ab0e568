import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ClusterClient } from "../cluster/client";
import { roleBinding, serviceAccount } from "../cluster/objects";
import type { Lab } from "../lab";
import { freePort } from "../lab/free-port";
import { builtPath, type GoProgram } from "../lab/go-build";
import { start } from "../lab/processes";
import { readState } from "../lab/state";
import { answering, gitopsFolder } from "./core";
import { GitServer } from "./git-server";
import { nodeLab } from "./node-lab";
import { HELM_CONTROLLER, KUSTOMIZE_CONTROLLER, SOURCE_CONTROLLER, SOURCE_KINDS } from "./programs";

const NAMESPACE = "flux-system";
/** The kinds that the controllers watch. */
const DEFINITIONS = ["kustomizations.kustomize", "helmreleases.helm", ...SOURCE_KINDS.map(kind => `${kind}.source`)];

/** A lab with a node, in which Flux's real source-controller, kustomize-controller and helm-controller run. */
export class FluxLab {
  private constructor(
    private readonly lab: Lab,
    readonly client: ClusterClient,
    /** Serves Git repositories to source-controller. */
    readonly git: GitServer,
  ) {}

  /** Builds what it needs; takes some minutes the first time. */
  static up(name: string): Promise<FluxLab> {
    const programs = [SOURCE_CONTROLLER, KUSTOMIZE_CONTROLLER, HELM_CONTROLLER];
    return nodeLab(name, programs, async lab => {
      const client = ClusterClient.of(lab);
      for (const program of programs) await client.apply(keptBeside(program));
      await client.untilServed(DEFINITIONS.map(kind => `crd/${kind}.toolkit.fluxcd.io`));
      await client.createNamespace(NAMESPACE);
      // As in Flux's own installation, source-controller alone has few rights in the cluster.
      await client.apply(account("source-controller", "manager-role"));
      await startSourceController(lab);
      for (const program of [KUSTOMIZE_CONTROLLER, HELM_CONTROLLER]) {
        await client.apply(account(program.name, ADMIN));
        await startController(lab, program.name, builtPath(program), []);
      }
      return new FluxLab(lab, client, await GitServer.start(join(gitopsFolder(lab.name), "repositories")));
    });
  }

  down(): Promise<void> {
    this.git.close();
    return this.lab.down();
  }
}

/** The kinds of a controller, and the ClusterRole of source-controller. */
function keptBeside(program: GoProgram): string {
  return readFileSync(join(dirname(builtPath(program)), program.keep!.as), "utf8");
}

const ADMIN = "cluster-admin";

/** A ServiceAccount with the rights of a ClusterRole. */
function account(name: string, role: string): object[] {
  const own = { namespace: NAMESPACE, name };
  return [serviceAccount(own), roleBinding({ name }, { kind: "ClusterRole", name: role }, own)];
}

/** It stores the artifacts and serves them to kustomize-controller. */
async function startSourceController(lab: Lab): Promise<void> {
  const storage = join(gitopsFolder(lab.name), "artifacts");
  mkdirSync(storage, { recursive: true });
  const address = `127.0.0.1:${await freePort()}`;
  await startController(lab, "source-controller", builtPath(SOURCE_CONTROLLER), [
    ...[`--storage-path=${storage}`, `--storage-addr=${address}`, `--storage-adv-addr=${address}`],
  ]);
}

/** It belongs to the lab: it ends with it, and its files are in its folder. */
async function startController(lab: Lab, name: string, program: string, more: readonly string[]): Promise<void> {
  const state = readState(lab.name)!;
  const temporary = join(gitopsFolder(lab.name), "tmp", name);
  mkdirSync(temporary, { recursive: true });
  const [health, metrics] = [await freePort(), await freePort()];
  const kubeconfig = await lab.serviceAccountKubeconfig(NAMESPACE, name, "6h");
  const { NO_PROXY = "" } = lab.environment;
  const variables = { KUBECONFIG: kubeconfig, TMPDIR: temporary, RUNTIME_NAMESPACE: NAMESPACE, NO_PROXY };
  const args = [`--health-addr=127.0.0.1:${health}`, `--metrics-addr=127.0.0.1:${metrics}`, "--watch-all-namespaces"];
  const environment = Object.entries(variables).map(([key, value]) => `${key}=${value}`);
  await start(state, { name, argv: ["env", ...environment, program, ...args, ...more], group: "" });
  await answering(state, name, `http://127.0.0.1:${health}/readyz`);
}
