import fc from "fast-check";
import type { State } from "../scenario";
import { bindingRenewal } from "../scenarios/binding-renewal";
import { staleToken } from "../scenarios/stale-token";
import { tokenTrial } from "../scenarios/token-lifetime";

/**
 * The fate of the call at which a leader is frozen. `late`: the API server receives it when the sender wakes up; `lost`: never; `done`: the
 * API server carries it out at once, and the sender receives the answer when it wakes up.
 */
export type Fate = "late" | "lost" | "done";

/** The point at which a leader is frozen. */
export interface FreezePoint {
  readonly scenario: string;
  /** The first call of that kind: `PATCH daemonsets`. */
  readonly call: string;
  readonly fate: Fate;
  /** The replica wakes up as soon as another leads. Otherwise the other finishes the scenario first. */
  readonly isEarly?: true;
  /** Takes more than five minutes. */
  readonly isLong?: true;
}

/** Scenarios with an action that may be carried out only once, and their final state. */
export const ONCE = [
  { scenario: staleToken, action: "POST pods/eviction", state: { restartsTotal: 1, pods: 1 } },
  { scenario: bindingRenewal, action: "PATCH rolebindings", state: { hours: 31 } },
  { scenario: tokenTrial, action: "PATCH daemonsets", state: { generation: 2 } },
] as const;

const STATUS = "PUT controllerresiliences/status";

const POINTS: readonly FreezePoint[] = [
  // An eviction that was recorded but not sent is settled after five minutes (docs/adr/0004); until then the late one may arrive.
  { scenario: "stale-token", call: "POST pods/eviction", fate: "late", isEarly: true },
  { scenario: "stale-token", call: "POST pods/eviction", fate: "late", isLong: true },
  { scenario: "stale-token", call: "POST pods/eviction", fate: "lost", isLong: true },
  { scenario: "stale-token", call: "POST pods/eviction", fate: "done" },
  { scenario: "stale-token", call: STATUS, fate: "late" },
  { scenario: "stale-token", call: "GET pods/log", fate: "done" },
  { scenario: "binding-renewal", call: "PATCH rolebindings", fate: "late" },
  { scenario: "binding-renewal", call: "PATCH rolebindings", fate: "lost" },
  { scenario: "binding-renewal", call: "PATCH rolebindings", fate: "done" },
  { scenario: "binding-renewal", call: STATUS, fate: "late" },
  { scenario: "token-trial", call: "PATCH daemonsets", fate: "late" },
  { scenario: "token-trial", call: "PATCH daemonsets", fate: "lost" },
  { scenario: "token-trial", call: "PATCH daemonsets", fate: "done" },
  { scenario: "token-trial", call: "GET daemonsets", fate: "done" },
];

/** Two points of each scenario, chosen by the seed; all points in a full run. Pure. */
export function pointsOf(seed: number, isFull: boolean): readonly FreezePoint[] {
  if (isFull) return POINTS;
  return ONCE.flatMap(({ scenario: { name } }) => {
    const short = POINTS.filter(({ scenario, isLong }) => scenario === name && isLong !== true);
    const two = fc.shuffledSubarray(short, { minLength: 2, maxLength: 2 });
    return fc.sample(two, { seed, numRuns: 1 })[0] ?? [];
  });
}

/** Differences from a run without a frozen leader, as sentences. Pure. */
export function complaintsOf(
  { action, state }: { readonly action: string; readonly state: State },
  seen: { readonly actions: Readonly<Record<string, number>>; readonly state: State },
): string[] {
  const actions = Object.entries({ [action]: 0, ...seen.actions });
  return [
    ...actions.filter(([, times]) => times !== 1).map(([name, times]) => `${name} was carried out ${times} times`),
    ...Object.keys(state)
      .filter(key => seen.state[key] !== state[key])
      .map(key => `${key} is ${JSON.stringify(seen.state[key])}, not ${JSON.stringify(state[key])}`),
  ];
}

/** Formats a point: `token-trial at PATCH daemonsets (late)`. */
export function describePoint({ scenario, call, fate, isEarly }: FreezePoint): string {
  return `${scenario} at ${call} (${fate}${isEarly === true ? ", while the other waits" : ""})`;
}
