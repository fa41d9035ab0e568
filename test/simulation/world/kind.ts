import type { Dice } from "../time";
import type { Ref } from "./people";
import type { Happening } from "./plan";
import type { World } from "./world";

/** What something can happen to: workloads also of one kind, or with a number of replicas. */
export type Subject =
  | ("workload" | "Deployment" | "DaemonSet" | "workload with replicas")
  | ("object" | "cluster object" | "binding" | "namespace" | "tenant" | "server" | "operator");

/** One happening, as its kind gets it. */
export interface Given extends Required<Pick<Happening, "on" | "amount" | "text">> {
  /** The object that it happens to. */
  readonly ref: Ref;
  readonly dice: Dice;
}

/** A kind of happening: what it does, and how a story tells it. */
export interface Kind {
  /** What it happens to; absent: the whole cluster. */
  readonly on?: Subject;
  /** For how long, in minutes, in generated worlds; absent: it does not end by itself. */
  readonly lasts?: readonly [least: number, most: number];
  /** Its amount in generated worlds. */
  readonly amount?: (dice: Dice) => number;
  /** Its text in generated worlds. */
  readonly text?: (dice: Dice) => string;
  /** How often it is drawn, compared with others; absent: 1. */
  readonly weight?: number;
  /** As the story tells it; `%` is what it happens to, `#` its amount. */
  readonly says: string | ((amount: number, text: string) => string);
  /** As the story tells its end; absent: that it is over. */
  readonly ends?: string;
  /** Changes the world. @returns a function that ends it; anything else if nothing does */
  readonly begin: (world: World, given: Given) => unknown;
}

/** Kinds of happenings, by their names in a plan. */
export type Kinds = Readonly<Record<string, Kind>>;

/** The object of `namespace/name`, or of `/name`. */
export function refOf(resource: string, key: string): Ref {
  const at = key.indexOf("/");
  const namespace = key.slice(0, Math.max(0, at));
  return { resource, name: key.slice(at + 1), ...(namespace === "" ? {} : { namespace }) };
}

const RESOURCES: Partial<Readonly<Record<Subject, string>>> = {
  object: "controllerresiliences",
  "cluster object": "clustercontrollerresiliences",
  binding: "rolebindings",
  namespace: "namespaces",
};

/** What a plan names as the subject of a happening; of a workload it says the kind. */
export function subjectOf({ plan }: World, subject: Subject | undefined, key: string): Ref {
  const found = plan.workloads.find(({ namespace, name }) => `${namespace}/${name}` === key);
  const workloads = `${(found?.kind ?? "Deployment").toLowerCase()}s`;
  return refOf((subject && RESOURCES[subject]) ?? workloads, key);
}
