import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { foldersOf, labsFolder, problemWithName } from "./folders";
import type { Minor } from "./kubernetes";

/** A process, identified so that a later one with the same number is not mistaken for it. */
export interface ProcessRecord {
  pid: number;
  /** In clock ticks since boot: field 22 of /proc/PID/stat. */
  startTime: number;
}

/**
 * The resources of a lab, recorded before the first of them is created, so that `down` finds them
 * whatever interrupted `up`.
 */
export interface LabState {
  name: string;
  /** Random: in the environment of every process of this lab, and in the names of its cgroup and interface. */
  id: string;
  /** With its own node (kubelet, containerd), or only a control plane. */
  kind: "node" | "control-plane";
  /** Determines addresses and ports. */
  index: number;
  phase: "creating" | "ready";
  /** The process that the lab ends with; undefined if it outlives the process that brought it up. */
  owner?: ProcessRecord;
  createdAt: string;
  version: string;
  /** The minor version that was asked for; undefined if any will do. */
  kubernetes?: Minor;
  /** Path below the root of every cgroup hierarchy; only a lab with a node has one. */
  cgroup: string;
  /** The host's end of the veth pair; only a lab with a node has one. */
  link: string;
  extraApiServerArgs: string[];
  /** The users whose requests are in the audit log; undefined if there is no audit log. */
  auditedUsers?: readonly string[];
  /** Number of signing keys for ServiceAccount tokens so far; 1 is the first. */
  signingKey: number;
  /** Number of simulated nodes: kwok-0, kwok-1, ... */
  kwokNodes: number;
  /** Additional configuration files for kwok. */
  kwokConfigs: string[];
}

/** Reads the state of the lab of this name; undefined if there is none, or the start was interrupted before it was written. */
export function readState(name: string): LabState | undefined {
  const file = foldersOf(name).state;
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as LabState) : undefined;
}

/** Writes the state atomically: a reader finds the old or the new one. */
export function writeState(state: LabState): void {
  const { folder, state: file } = foldersOf(state.name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, `${JSON.stringify(state, undefined, 2)}\n`);
  renameSync(`${file}.new`, file);
}

/** The names of all labs of this user, including interrupted ones. */
export function labNames(): string[] {
  const labs = labsFolder();
  if (!existsSync(labs)) return [];
  const names = readdirSync(labs).map(entry => basename(entry, ".lock"));
  return [...new Set(names)].filter(name => problemWithName(name) === undefined).sort();
}

/** The indices of all labs, including interrupted ones: `down` frees them. */
export function heldIndices(): Set<number> {
  return new Set(labNames().flatMap(name => readState(name)?.index ?? []));
}
