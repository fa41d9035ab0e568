import { homedir } from "node:os";
import { join } from "node:path";

/** The name that every folder, cgroup and interface of ours can be told by. */
export const PROJECT = "controller-resilience";

const NAME = /^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$/;

/** Where one lab keeps everything it makes; all of it is inside `folder`, but the lock. */
export interface LabFolders {
  folder: string;
  /** Held while a lab goes up or down; beside the folder, since the folder comes and goes. */
  lock: string;
  state: string;
  processes: string;
  logs: string;
  pki: string;
  programs: string;
  kubeconfigs: string;
  adminKubeconfig: string;
  etcd: string;
  /** What the kubelet and containerd see as /var/lib, /var/log and /run, and their configuration. */
  node: string;
  containerdSocket: string;
}

/** The folder of all labs: XDG_STATE_HOME, or what the XDG specification puts in its place. */
export function labsFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(env["XDG_STATE_HOME"] ?? join(homedir(), ".local", "state"), PROJECT, "labs");
}

/** The folder of what is built once and kept: programs and images. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), PROJECT);
}

/** Says why a name can't be a lab's, or undefined if it can. */
export function problemWithName(name: string): string | undefined {
  if (NAME.test(name)) return undefined;
  return `"${name}" can't be a lab's name: expected 1 to 20 lower-case letters, digits and hyphens, no hyphen at either end`;
}

/** The folders of the lab of this name; throws if the name can't be one. */
export function foldersOf(name: string, labs: string = labsFolder()): LabFolders {
  const problem = problemWithName(name);
  if (problem !== undefined) throw new Error(problem);
  const folder = join(labs, name);
  return {
    folder,
    lock: `${folder}.lock`,
    state: join(folder, "state.json"),
    processes: join(folder, "processes"),
    logs: join(folder, "logs"),
    pki: join(folder, "pki"),
    programs: join(folder, "bin"),
    kubeconfigs: join(folder, "kubeconfigs"),
    adminKubeconfig: join(folder, "kubeconfig"),
    etcd: join(folder, "etcd"),
    node: join(folder, "node"),
    containerdSocket: join(folder, "containerd.sock"),
  };
}
