import { homedir } from "node:os";
import { join } from "node:path";

/** The common prefix of every folder, cgroup and interface of a lab. */
export const PROJECT = "controller-resilience";

const NAME = /^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$/;

/** The folders of one lab. All of them are inside `folder`, except the lock. */
interface LabFolders {
  folder: string;
  /** Held while a lab goes up or down; beside the folder, since `down` deletes the folder. */
  lock: string;
  state: string;
  processes: string;
  logs: string;
  pki: string;
  programs: string;
  kubeconfigs: string;
  adminKubeconfig: string;
  etcd: string;
  /** /var/lib, /var/log and /run as the kubelet and containerd see them, and their configuration. */
  node: string;
  containerdSocket: string;
}

/** The folder of all labs: XDG_STATE_HOME, or its default. */
export function labsFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(env["XDG_STATE_HOME"] ?? join(homedir(), ".local", "state"), PROJECT, "labs");
}

/** The folder of the build cache: programs and images. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), PROJECT);
}

/** Returns why a name is not valid for a lab, or undefined if it is. */
export function problemWithName(name: string): string | undefined {
  if (NAME.test(name)) return undefined;
  return `"${name}" is not a valid lab name: expected 1 to 20 lower-case letters, digits and hyphens, no hyphen at either end`;
}

/** Returns the folders of the lab of this name; throws if the name is not valid. */
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
