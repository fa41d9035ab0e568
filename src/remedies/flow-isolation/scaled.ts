import type { FlowStatus } from "../../api/controller-resilience";
import { atZero, countedGeneration, type Flow } from "./flow";

/** Workloads of a ServiceAccount that the operator scales to zero in one throttle at most: status has their names. */
export const MAX_SCALED = 64;

/** Workloads that were scaled to zero in one throttle, as in status. No workload is in both lists. */
export type Scaled = Required<Pick<FlowStatus, "scaled" | "restored">>;

const NONE: Scaled = { scaled: [], restored: [] };

/** Kind and name of a workload, as status has them. */
export function idOf({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind}/${name}`;
}

/**
 * Workloads that the operator has scaled to zero in this throttle, for this generation of the object. Those that are at zero now are added: the
 * write of status may have failed. Pure.
 */
export function scaledOf(flow: Flow): Scaled {
  const { account, facts, breaker } = flow;
  const { record } = account;
  if (breaker.state !== "Throttled") return NONE;
  const isSame = record?.state === "Throttled" && record.generation === countedGeneration(account, facts);
  const { scaled = [], restored = [] } = isSame ? record : {};
  return after({ scaled, restored }, { scaled: atZero(account, facts).map(idOf), restored: [] });
}

/** The lists after further workloads were scaled to zero or restored. Pure. */
export function after(before: Scaled, more: Scaled): Scaled {
  const restored = unique([...before.restored, ...more.restored]);
  const scaled = unique([...before.scaled, ...more.scaled]).filter(id => !restored.includes(id));
  return { scaled: scaled.slice(0, MAX_SCALED), restored: restored.slice(0, MAX_SCALED) };
}

/** As the fields of an entry: an empty list is absent. Pure. */
export function fieldsOf({ scaled, restored }: Scaled): Partial<Scaled> {
  return { ...(scaled.length === 0 ? {} : { scaled }), ...(restored.length === 0 ? {} : { restored }) };
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)].toSorted();
}
