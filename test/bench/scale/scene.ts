import type { Report } from "./report";
import type { Print } from "./waiting";
import { World, type WorldOptions } from "./world";

/** Numbers of pods, and of the objects that protect them. */
export interface Size {
  readonly pods: number;
  readonly objects: number;
}

/** The size in words, such as "500 pods in 25 objects". */
export function describeSize({ pods, objects }: Size): string {
  return `${pods} pods in ${objects === 1 ? "one object" : `${objects} objects`}`;
}

/** What a person chooses. */
export interface Choice {
  /** Length of a measurement. */
  readonly seconds: number;
  readonly nodes: number;
  /** How often each process gets a burst. */
  readonly repeats: number;
  /** Options of Node.js besides those of the image. */
  readonly nodeOptions: string;
}

/** What a scene needs. */
export interface Stage extends Choice {
  /** The name of its lab. */
  readonly lab: string;
  readonly size: Size;
  readonly print: Print;
}

/** One situation in which the operator is measured. */
export interface Scene {
  readonly name: string;
  readonly about: string;
  /** The sizes of a run that names none. */
  readonly sizes: readonly Size[];
  run(stage: Stage): Promise<Omit<Report, "scene" | "size">>;
}

/** The reason of an object whose pods are well. */
export const HEALTHY = ["Accepted"] as const;

/** The reasons of an object that targets nothing. */
export const NOTHING = ["TargetNotFound", "NothingToDo"] as const;

/** Uses a new lab, and takes it down, also after a failure. */
export async function useWorld<T>(
  { lab, print, size, nodes, nodeOptions }: Stage,
  options: Pick<WorldOptions, "victims">,
  work: (world: World) => Promise<T>,
): Promise<T> {
  const world = await World.up({ ...options, name: lab, print, nodeOptions, nodes: size.pods === 0 ? 0 : nodes });
  try {
    return await work(world);
  } finally {
    await world.down();
  }
}
