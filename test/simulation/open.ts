import type { Size } from "./world/plan";

/** What is not mended yet. */
export interface Open {
  readonly world: Size;
  /** A world of `npm test` that breaks a promise today. Absent: any world of this size that is another one for each commit may, and is only told. */
  readonly broken?: { readonly seed: number; readonly promise: number };
  readonly why: string;
}

/** Empty when the simulation is done. A world that breaks its promise no longer must go from here. */
export const OPEN: readonly Open[] = [
  { world: "small", why: "no run of thousands of them has kept all promises yet" },
  { world: "medium", why: "no run of hundreds of them has kept all promises yet" },
];
