import type { WorkloadPlan } from "../cluster/install";

// A world as data: what is there at first, and what happens to it. Everything else follows from it and from the seed, so a plan is a scenario that can
// be made smaller, printed, and kept.

/** How large a world is, and how much goes wrong in it. */
export type Size = "small" | "medium" | "wide" | "bad-day";

/** The sizes, for people who ask for one. */
export const SIZES: readonly Size[] = ["small", "medium", "wide", "bad-day"];

/** A ControllerResilience, or with no namespace a ClusterControllerResilience. */
export interface ObjectPlan {
  readonly namespace?: string;
  readonly name: string;
  readonly spec: object;
}

/** A RoleBinding of a workload's ServiceAccount that expires. */
export interface BindingPlan {
  readonly namespace: string;
  readonly name: string;
  readonly account: string;
  /** When it expires, in milliseconds from the start of the world. */
  readonly expiresMs: number;
  /** Its whole life, in milliseconds. */
  readonly lifeMs: number;
  /** The annotation that asks for its renewal. */
  readonly consents: boolean;
  /** What keeps it from being renewed. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Something that happens, at a moment, to something, for some time. */
export interface Happening {
  readonly atMs: number;
  readonly what: string;
  /** `namespace/name` of a workload, an object (of the cluster: `/name`) or a binding; a namespace; the number of a server or of an operator. */
  readonly on?: string;
  /** Until it ends by itself, in milliseconds; absent: it does not. */
  readonly forMs?: number;
  /** A share of requests, a number of milliseconds; each happening says which. */
  readonly amount?: number;
  /** What someone writes, such as a field and its value. */
  readonly text?: string;
}

/** A world. */
export interface Plan {
  readonly seed: number;
  readonly lastsMs: number;
  readonly servers: number;
  /** How far the clock of each operator's machine is off, in milliseconds. */
  readonly operators: readonly number[];
  readonly nodes: number;
  readonly workloads: readonly WorkloadPlan[];
  readonly objects: readonly ObjectPlan[];
  readonly bindings: readonly BindingPlan[];
  readonly happenings: readonly Happening[];
}
