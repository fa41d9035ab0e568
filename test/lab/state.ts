import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { foldersOf, labsFolder, problemWithName } from "./folders";

/**
 * What a lab owns, written down before the first of it is made, so that whatever interrupted `up`,
 * `down` knows what to look for.
 */
export interface LabState {
  name: string;
  /** Random: in the environment of every process of this lab, and in the names of its cgroup and interface. */
  id: string;
  /** With its own node (kubelet, containerd), or the control plane alone. */
  kind: "node" | "control-plane";
  /** Decides addresses and ports. */
  index: number;
  phase: "creating" | "ready";
  createdAt: string;
  version: string;
  /** Below the root of every cgroup hierarchy; only a lab with a node has one. */
  cgroup: string;
  /** The host's end of the veth pair; only a lab with a node has one. */
  link: string;
  extraApiServerArgs: string[];
  /** Counts the keys that ServiceAccount tokens were signed with; 1 is the first. */
  signingKey: number;
  /** How many simulated nodes there are: kwok-0, kwok-1, ... */
  kwokNodes: number;
  /** Configuration files for kwok beside the usual. */
  kwokConfigs: string[];
}

/** The state of the lab of this name, or undefined if there is none or it was interrupted before it had one. */
export function readState(name: string): LabState | undefined {
  const file = foldersOf(name).state;
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as LabState) : undefined;
}

/** Writes the state so that a reader finds the old or the new one, never half of it. */
export function writeState(state: LabState): void {
  const { folder, state: file } = foldersOf(state.name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, `${JSON.stringify(state, undefined, 2)}\n`);
  renameSync(`${file}.new`, file);
}

/** The names of all labs of this user, also of those that were interrupted. */
export function labNames(): string[] {
  const labs = labsFolder();
  if (!existsSync(labs)) return [];
  const names = readdirSync(labs).map(entry => basename(entry, ".lock"));
  return [...new Set(names)].filter(name => problemWithName(name) === undefined).sort();
}

/** The indices that labs hold, also interrupted ones: they are free after `down`. */
export function heldIndices(): Set<number> {
  return new Set(labNames().flatMap(name => readState(name)?.index ?? []));
}
