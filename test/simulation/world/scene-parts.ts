import type { WorkloadPlan } from "../cluster/install";
import type { ProgramName } from "../programs/library";
import type { Dice } from "../time";
import type { BindingPlan, Happening, ObjectPlan, Plan } from "./plan";

// What scenes are made of.

const MINUTE = 60_000;

/** What a scene says of its world; the rest is drawn. */
export type Scene = Pick<Plan, "workloads" | "objects" | "happenings"> &
  Partial<Pick<Plan, "bindings" | "servers" | "operators" | "nodes" | "lastsMs">>;

/** Programs of the usual kind. */
export const CLIENTS: readonly ProgramName[] = [
  "client-go-old",
  "client-go-middle",
  "client-go-new",
  "kopf",
  "fabric8",
];

/** A workload of one pod, unless more says otherwise. */
export function workload(
  namespace: string,
  name: string,
  program: ProgramName,
  more: Partial<WorkloadPlan> = {},
): WorkloadPlan {
  return { namespace, name, kind: "Deployment", program, replicas: 1, ...more };
}

/** The object of a namespace that names some workloads. */
export function objectFor(workloads: readonly WorkloadPlan[], blocks: object): ObjectPlan {
  const targets = workloads.map(({ kind, name }) => ({ kind, name }));
  return { namespace: workloads[0]!.namespace, name: "main", spec: { targets, ...blocks } };
}

/** As a happening names it. */
export const keyOf = ({ namespace, name }: { readonly namespace?: string; readonly name: string }): string =>
  `${namespace ?? ""}/${name}`;

/** Something happens after some minutes, for some minutes. */
export function at(
  dice: Dice,
  minutes: readonly [number, number],
  what: string,
  more: Partial<Happening> = {},
): Happening {
  return { atMs: Math.round(dice.between(...minutes) * MINUTE), what, ...more };
}

/** Some bindings must not be renewed: a person skips them, or they expire twice. */
export function reserved(dice: Dice): Pick<BindingPlan, "annotations"> {
  const marks = [{ "controller-resilience.io/skip": "true" }, { "janitor/expires": "2026-01-05T12:00:00Z" }];
  return dice.chance(0.15) ? { annotations: dice.pick(marks) } : {};
}

/** For how long it happens. */
export const forMinutes = (minutes: number): Pick<Happening, "forMs"> => ({ forMs: Math.round(minutes * MINUTE) });
