import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { POD_RANGE } from "./addresses";
import { cniConfig } from "./components";
import { foldersOf } from "./folders";
import type { LabState } from "./state";

/** A CNI plugin beside the machine's own: a program that runs with containerd, with the lab's files and network. */
export interface CniPlugin {
  readonly name: string;
  /** The text of the script, with a shebang. */
  readonly program: string;
}

/** containerd's folder of plugins: links to those of the machine, so that a lab can add some without changing the machine. */
export function linkPlugins(lab: LabState, plugins: string): string {
  const folder = pluginFolder(lab);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(plugins)) symlinkSync(join(plugins, name), join(folder, name));
  return folder;
}

/** Writes the configuration of the pod network, with that plugin after the bridge if there is one. containerd reloads it. */
export function writeCniConfig(lab: LabState, plugin?: CniPlugin): void {
  const folder = join(foldersOf(lab.name).node, "cni");
  mkdirSync(folder, { recursive: true });
  if (plugin !== undefined) writeFileSync(join(pluginFolder(lab), plugin.name), plugin.program, { mode: 0o755 });
  const config = cniConfig(POD_RANGE, plugin === undefined ? [] : [plugin.name]);
  const unfinished = join(folder, "unfinished");
  writeFileSync(unfinished, JSON.stringify(config, undefined, 2));
  renameSync(unfinished, join(folder, "lab.conflist"));
}

function pluginFolder(lab: LabState): string {
  return join(foldersOf(lab.name).node, "cni-plugins");
}
