import { existsSync, mkdirSync, readlinkSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { foldersOf } from "./folders";
import { built } from "./go-build";
import { controlPlane } from "./kubernetes";
import type { Progress } from "./progress";
import type { LabState } from "./state";

const FOR_ANY = ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"] as const;
const FOR_NODE = [...FOR_ANY, "kube-scheduler", "kubelet"] as const;

export type Program = (typeof FOR_NODE)[number];

/** Builds the programs of a lab, which are one file, and links them into its bin folder. The name of a link tells which component to run. */
export async function linkPrograms(lab: LabState, progress: Progress): Promise<{ version: string }> {
  const program = controlPlane(lab.kubernetes);
  const path = await built(program, lab.id, progress);
  const { programs } = foldersOf(lab.name);
  mkdirSync(programs, { recursive: true });
  for (const name of lab.kind === "node" ? FOR_NODE : FOR_ANY) link(path, join(programs, name));
  return program;
}

/** The path of a program of this lab. */
export function programPath(lab: LabState, program: Program): string {
  return join(foldersOf(lab.name).programs, program);
}

/** Links a name to a program, replacing an earlier link. */
export function link(path: string, name: string): void {
  if (existsSync(name) && readlinkSync(name) === path) return;
  symlinkSync(path, `${name}.new`);
  renameSync(`${name}.new`, name);
}
