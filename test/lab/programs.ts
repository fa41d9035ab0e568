import { existsSync, mkdirSync, readlinkSync, renameSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { run } from "./commands";
import { foldersOf } from "./folders";
import { built, builtPath, hasGo } from "./go-build";
import { askedMinor, controlPlane, type Minor } from "./kubernetes";
import type { Progress } from "./progress";
import type { LabState } from "./state";

/** A lab needs all of these. envtest provides the same. */
const NEEDED = ["etcd", "kube-apiserver", "kubectl"] as const;
const FOR_ANY = [...NEEDED, "kube-controller-manager"] as const;
const FOR_NODE = [...FOR_ANY, "kube-scheduler", "kubelet"] as const;

export type Program = (typeof FOR_NODE)[number];

/** The path of each program. A program without a path can't run in this lab. */
export interface Programs {
  version: string;
  paths: Partial<Record<Program, string>>;
}

/** Input of the decision where programs come from. */
interface Sources {
  wanted: readonly Program[];
  /** KUBEBUILDER_ASSETS: its programs, and the version of its API server; undefined if it is not set. */
  assets: { folder: string; has: readonly Program[]; version: string } | undefined;
  canBuild: boolean;
  /** The version of programs that are built. */
  version: string;
  /** True if no other minor version will do; otherwise that of the assets will. */
  isExact: boolean;
}

export interface Choice {
  fromAssets: Program[];
  build: Program[];
  missing: Program[];
  /** A note for the user; "" if there is none. */
  note: string;
}

/**
 * Decides where each program comes from: KUBEBUILDER_ASSETS first; missing programs are built, but only to
 * match an API server of the same minor version, since a controller-manager may not be newer than the API server.
 */
export function choosePrograms({ wanted, assets, canBuild, version, isExact }: Sources): Choice {
  if (assets === undefined) return { fromAssets: [], build: [...wanted], missing: [], note: "" };
  const where = `KUBEBUILDER_ASSETS (${assets.folder}, ${assets.version})`;
  const matches = minorOf(assets.version) === minorOf(version);
  if (isExact && !matches) {
    const [build, missing] = canBuild ? [[...wanted], []] : [[], [...wanted]];
    return { fromAssets: [], build, missing, note: `${where} does not match ${version}, and is not used` };
  }
  const lacking = wanted.filter(program => !assets.has.includes(program));
  const fromAssets = wanted.filter(program => assets.has.includes(program));
  if (lacking.length === 0) return { fromAssets, build: [], missing: [], note: `all programs are from ${where}` };
  if (!canBuild) {
    const note = `${where} has no ${lacking.join(", ")}, and without Go they can't be built`;
    return { fromAssets, build: [], missing: lacking, note };
  }
  if (matches) {
    return {
      fromAssets,
      build: lacking,
      missing: [],
      note: `built: ${lacking.join(", ")}; all others are from ${where}`,
    };
  }
  const note = `${where} has no ${lacking.join(", ")}, and those of ${version} don't match its version: all programs are built`;
  return { fromAssets: [], build: [...wanted], missing: [], note };
}

/** Whether there is a kubelet, or one can be built. */
export async function canHaveKubelet(): Promise<boolean> {
  const assets = await findAssets();
  return assets === undefined || assets.has.includes("kubelet") || (await canBuild());
}

/** Which lab the programs are for. */
interface Wanted extends Pick<LabState, "kind" | "id"> {
  readonly kubernetes?: Minor | undefined;
}

/** Finds or builds the programs that a lab needs. */
export async function findPrograms({ kind, id, kubernetes }: Wanted, progress: Progress): Promise<Programs> {
  const { choice, assets } = await choose(kind, kubernetes);
  const program = controlPlane(kubernetes);
  const { version } = program;
  if (choice.note !== "") progress(choice.note);
  refuseIfUseless(choice);
  const paths = choice.build.length > 0 ? pathsTo(choice.build, await built(program, id, progress)) : {};
  if (assets === undefined) return { version, paths };
  for (const program of choice.fromAssets) paths[program] = resolve(assets.folder, program);
  return { version: choice.fromAssets.includes("kube-apiserver") ? assets.version : version, paths };
}

/** Whether a lab with a node has to build programs first. */
export async function mustBuild(): Promise<boolean> {
  const kubernetes = askedMinor();
  const { choice } = await choose("node", kubernetes);
  return choice.build.length > 0 && !existsSync(builtPath(controlPlane(kubernetes)));
}

async function choose(
  kind: LabState["kind"],
  kubernetes: Minor | undefined,
): Promise<{ choice: Choice; assets: Sources["assets"] }> {
  const assets = await findAssets();
  const wanted = kind === "node" ? FOR_NODE : FOR_ANY;
  const { version } = controlPlane(kubernetes);
  const isExact = kubernetes !== undefined;
  return { choice: choosePrograms({ wanted, assets, canBuild: await canBuild(kubernetes), version, isExact }), assets };
}

async function canBuild(minor?: Minor): Promise<boolean> {
  return existsSync(builtPath(controlPlane(minor))) || (await hasGo());
}

function pathsTo(programs: readonly Program[], path: string): Programs["paths"] {
  return Object.fromEntries(programs.map(program => [program, path]));
}

function refuseIfUseless({ missing }: Choice): void {
  const needed = NEEDED.filter(program => missing.includes(program));
  if (needed.length === 0) return;
  throw new Error(`no ${needed.join(", ")} in KUBEBUILDER_ASSETS, and there is no Go to build it`);
}

/** Links the programs into the lab's bin folder. The name of the link tells the program which component to run. */
export function linkPrograms(lab: LabState, { paths }: Programs): void {
  const { programs } = foldersOf(lab.name);
  mkdirSync(programs, { recursive: true });
  for (const [program, path] of Object.entries(paths)) link(path, join(programs, program));
}

/** The path of a program of this lab, or undefined if the lab does not have it. */
export function programPath(lab: LabState, program: Program): string | undefined {
  const path = join(foldersOf(lab.name).programs, program);
  return existsSync(path) ? path : undefined;
}

async function findAssets(): Promise<Sources["assets"]> {
  const folder = process.env["KUBEBUILDER_ASSETS"] ?? "";
  if (folder === "") return undefined;
  const has = FOR_NODE.filter(program => existsSync(join(folder, program)));
  const said = await run([join(folder, "kube-apiserver"), "--version"]);
  return { folder, has, version: /v\d+\.\d+\.\d+/.exec(said.stdout)?.[0] ?? "of unknown version" };
}

function minorOf(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

/** Links a name to a program, replacing an earlier link. */
export function link(path: string, name: string): void {
  if (existsSync(name) && readlinkSync(name) === path) return;
  symlinkSync(path, `${name}.new`);
  renameSync(`${name}.new`, name);
}
