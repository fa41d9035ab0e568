import fc from "fast-check";
import type { State } from "../scenario";
import { bindingRenewal } from "../scenarios/binding-renewal";
import { staleToken } from "../scenarios/stale-token";
import { tokenTemplate } from "../scenarios/token-lifetime";

/**
 * What becomes of the call at which a leader is frozen. `late`: the API server sees it when its sender wakes up; `lost`: never; `done`:
 * it is carried out at once, and its sender sees that when it wakes up.
 */
export type Fate = "late" | "lost" | "done";

/** Where a leader is frozen. */
export interface FreezePoint {
  readonly scenario: string;
  /** The first of that kind: `PATCH daemonsets`. */
  readonly call: string;
  readonly fate: Fate;
  /** It wakes up as soon as another leads. Otherwise the other has come to an end before that. */
  readonly isEarly?: true;
  /** Takes more than five minutes. */
  readonly isLong?: true;
}

/** Scenarios in which something is done that may be done once, and what the world is like after that. */
export const ONCE = [
  { scenario: staleToken, deed: "POST pods/eviction", state: { restartsTotal: 1, pods: 1 } },
  { scenario: bindingRenewal, deed: "PATCH rolebindings", state: { hours: 31 } },
  { scenario: tokenTemplate, deed: "PATCH daemonsets", state: { generation: 2 } },
] as const;

const STATUS = "PUT controllerresiliences/status";

const POINTS: readonly FreezePoint[] = [
  // An eviction that was written down and not sent is settled after five minutes (docs/adr/0004): meanwhile the late one may come.
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
  { scenario: "token-template", call: "PATCH daemonsets", fate: "late" },
  { scenario: "token-template", call: "PATCH daemonsets", fate: "lost" },
  { scenario: "token-template", call: "PATCH daemonsets", fate: "done" },
  { scenario: "token-template", call: "GET daemonsets", fate: "done" },
];

/** Two of each scenario, chosen by the seed; all of them in full. Pure. */
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
  { deed, state }: { readonly deed: string; readonly state: State },
  seen: { readonly deeds: Readonly<Record<string, number>>; readonly state: State },
): string[] {
  const deeds = Object.entries({ [deed]: 0, ...seen.deeds });
  return [
    ...deeds.filter(([, times]) => times !== 1).map(([name, times]) => `${name} was carried out ${times} times`),
    ...Object.keys(state)
      .filter(key => seen.state[key] !== state[key])
      .map(key => `${key} is ${JSON.stringify(seen.state[key])}, not ${JSON.stringify(state[key])}`),
  ];
}

/** For people: `token-template at PATCH daemonsets (late)`. */
export function describePoint({ scenario, call, fate, isEarly }: FreezePoint): string {
  return `${scenario} at ${call} (${fate}${isEarly === true ? ", while the other waits" : ""})`;
}
