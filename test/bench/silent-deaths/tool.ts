import type { ChildProcess } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ClusterClient } from "../../cluster/client";
import { type Named, roleBinding, serviceAccount } from "../../cluster/objects";
import type { Lab } from "../../lab";
import { startBound } from "../../lab/commands";
import { foldersOf } from "../../lab/folders";
import type { Progress } from "../../lab/progress";
import { cpuSecondsIn, statOf } from "../scale/usage";

/** A case in the cluster. */
export interface Placed {
  readonly name: string;
  readonly namespace: string;
}

/** A command, and what its environment has besides that of the lab, in which kubectl is on the PATH. */
export interface Command {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A tool under test: how it is installed and started. Each removal of a pod is its action. */
export interface Tool {
  /** Its version and configuration, in a few words. */
  readonly how: string;
  /** It runs as this ServiceAccount, so that its requests can be counted. */
  readonly account: Named;
  /** Seconds from its start until it has learned what is there; 15 by default. */
  readonly settles?: number;
  /** Gives it its rights, and objects beside the cases if it needs some. */
  install(client: ClusterClient, cases: readonly Placed[]): Promise<void>;
  /** Its command, built if necessary. KUBECONFIG is set. */
  command(progress: Progress): Promise<Command>;
  /** Whether its output accuses a pod; only of a tool that reports. */
  accuses?(output: string, pod: string): boolean;
}

const TOOLS = "tools";

/** The ServiceAccount of a tool that has no namespace of its own. */
export const accountOf = (name: string): Named => ({ namespace: TOOLS, name });

/** Creates the ServiceAccount of a tool, with a ClusterRole of these rules. */
export async function grant(client: ClusterClient, account: Named, rules: readonly object[]): Promise<void> {
  const metadata = { name: `tool-${account.name}` };
  await client.createNamespace(account.namespace);
  await client.apply([
    serviceAccount(account),
    { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata, rules },
    roleBinding(metadata, { kind: "ClusterRole", name: metadata.name }, account),
  ]);
}

/** Any tool, by a command of the shell, which it runs as an administrator after a file of manifests is applied. */
export function toolByCommand(command: string, manifests?: string): Tool {
  const account = accountOf("yours");
  return {
    ...{ how: command, account },
    install: async client => {
      const all = { resources: ["*"], apiGroups: ["*"], verbs: ["*"] };
      await grant(client, account, [all, { nonResourceURLs: ["*"], verbs: ["*"] }]);
      if (manifests === undefined) return;
      const text = readFileSync(manifests, "utf8");
      // Retried: a kind is not served at once.
      await client.until(`${manifests} to be applied`, () => client.apply(text).then(() => true));
    },
    command: () => Promise.resolve({ argv: ["sh", "-c", command] }),
  };
}

const PAGE_MIB = 4 / 1024;

/** The process of a tool, and those that it starts. */
export class ToolProcess {
  readonly #child: ChildProcess;
  #peakMiB = 0;

  /** @param path of its output */
  private constructor(
    { argv, env = {} }: Command,
    lab: Lab,
    kubeconfig: string,
    readonly path: string,
  ) {
    const output = openSync(path, "w");
    const environment = { ...lab.environment, HOME: foldersOf(lab.name).folder, KUBECONFIG: kubeconfig, ...env };
    // A process group, by which its children are found.
    this.#child = startBound(argv, { env: environment, stdio: ["ignore", output, output], detached: true });
    closeSync(output);
  }

  static async start(tool: Tool, lab: Lab, name: string, progress: Progress): Promise<ToolProcess> {
    const { namespace, name: account } = tool.account;
    const command = await tool.command(progress);
    const kubeconfig = await lab.serviceAccountKubeconfig(namespace, account);
    return new ToolProcess(command, lab, kubeconfig, join(foldersOf(lab.name).logs, `tool-${name}.log`));
  }

  get output(): string {
    return readFileSync(this.path, "utf8");
  }

  /** Throws if it has ended. */
  mustRun(): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null) return;
    throw new Error(`the tool has ended:\n${this.output.slice(-2_000)}`);
  }

  /** The processor time of its processes, and of those that have ended, in seconds. Notes their memory. */
  sample(): number {
    const stats = this.#stats();
    this.#peakMiB = Math.max(this.#peakMiB, PAGE_MIB * stats.reduce((sum, fields) => sum + Number(fields[21]), 0));
    return stats.reduce((sum, fields) => sum + cpuSecondsIn(fields, { withChildren: true }), 0);
  }

  /** The most memory that was noted, of all its processes together. */
  get peakMiB(): number {
    return this.#peakMiB;
  }

  async stop(): Promise<void> {
    const { pid = 0, exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const ended = new Promise(resolve => this.#child.once("exit", resolve));
    process.kill(-pid, "SIGTERM");
    const timer = setTimeout(() => process.kill(-pid, "SIGKILL"), 10_000);
    await ended;
    clearTimeout(timer);
  }

  /** The fields of /proc/PID/stat after the name, of each process of its group. */
  #stats(): (readonly string[])[] {
    return readdirSync("/proc")
      .filter(entry => /^\d+$/.test(entry))
      .flatMap(entry => {
        try {
          const fields = statOf(entry);
          return Number(fields[2]) === this.#child.pid ? [fields] : [];
        } catch {
          return [];
        }
      });
  }
}
