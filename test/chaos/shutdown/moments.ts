import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describeCall } from "../calls";
import type { Rig } from "../rig";
import { type Scenario, type Scene, says, type State, until } from "../scenario";
import { bindingRenewal } from "../scenarios/binding-renewal";
import { staleToken } from "../scenarios/stale-token";
import { tokenTemplate } from "../scenarios/token-lifetime";

/** How long an answer is kept back while the operator ends, in milliseconds. */
const HELD_MS = 2_000;
/** Longer than any process waits that is about to end; in milliseconds. */
const LOST_MS = 10_000;
const COMES_WITHIN_MS = 60_000;

/** What an operator is in the middle of when it is asked to end. */
export interface StopMoment {
  readonly name: string;
  readonly scenario: Scenario;
  /** What is carried out once, if it was carried out at all. */
  readonly deed: string;
  /** Whether what it has begun has to stand in status when it has ended. */
  readonly isAccountedFor?: (state: State) => boolean;
  /** The Lease can't be handed back: others have to wait until it runs out, and the exit code says so. */
  readonly isLeaseOut?: true;
  /** Resolves when it is in the middle of it. The scenario is prepared; this triggers it. */
  reach(rig: Rig, scene: Scene): Promise<void>;
}

/** Keeps back the answer to the first such call; it goes on by itself. */
function duringCall(call: string): StopMoment["reach"] {
  return async ({ proxy }, scene) => {
    let isHeld = false;
    proxy.meddler = {
      after: async ({ namespace, ...what }, url) => {
        const isIt = describeCall(what) === call && namespace === scene.namespace && !url.includes("watch=true");
        if (isHeld || !isIt) return;
        isHeld = true;
        await sleep(HELD_MS);
      },
    };
    return until(`${call} to come`, () => Promise.resolve(isHeld), COMES_WITHIN_MS);
  };
}

/** No server answers for the Lease from its next renewal on, and the work is done by then. */
async function withoutLease(rig: Rig, scene: Scene): Promise<void> {
  await untilRenewed(rig, scene);
  let isHeld = false;
  rig.proxy.meddler = {
    before: ({ resource }) => {
      if (resource !== "leases") return Promise.resolve(undefined);
      isHeld = true;
      return sleep(LOST_MS).then(() => Promise.reject(new Error("nobody waits for it any more")));
    },
  };
  return until("a renewal of the Lease", () => Promise.resolve(isHeld), COMES_WITHIN_MS);
}

function untilRenewed(_rig: Rig, scene: Scene): Promise<void> {
  return until("the end", async () => isRenewed(await bindingRenewal.describe(scene)), COMES_WITHIN_MS);
}

const EVICTION = { scenario: staleToken, deed: "POST pods/eviction" };
const RENEWAL = { scenario: bindingRenewal, deed: "PATCH rolebindings" };
const TEMPLATE = { scenario: tokenTemplate, deed: "PATCH daemonsets" };

const isEvicted = ({ restarts }: State): boolean => /Restarted|Recovered/.test(String(restarts));
const isRenewed = (state: State): boolean => state["hours"] === 31 && says(state, "BindingsCurrent", "Current");

/** Moments of a leader. */
export const MOMENTS: readonly StopMoment[] = [
  { ...RENEWAL, name: "idle", isAccountedFor: isRenewed, reach: untilRenewed },
  { ...RENEWAL, name: "no answer about the Lease", isLeaseOut: true, reach: withoutLease },
  { ...EVICTION, name: "observing: reading a log", reach: duringCall("GET pods/log") },
  { ...TEMPLATE, name: "observing: reading the DaemonSet", reach: duringCall("GET daemonsets") },
  { ...EVICTION, name: "an eviction in flight", isAccountedFor: isEvicted, reach: duringCall("POST pods/eviction") },
  { ...RENEWAL, name: "a renewal in flight", isAccountedFor: isRenewed, reach: duringCall("PATCH rolebindings") },
  {
    ...TEMPLATE,
    name: "a change of a template in flight",
    isAccountedFor: ({ daemonSets }) => / 1$/.test(String(daemonSets)),
    reach: duringCall("PATCH daemonsets"),
  },
  { ...RENEWAL, name: "status in flight", reach: duringCall("PUT controllerresiliences/status") },
  {
    ...TEMPLATE,
    name: "following a change of a template",
    reach: (_rig, scene) =>
      until("the change", async () => (await tokenTemplate.describe(scene))["generation"] === 2, COMES_WITHIN_MS),
  },
];

/** In an order that the seed decides. Pure. */
export function momentsOf(seed: number): readonly StopMoment[] {
  return fc.sample(fc.shuffledSubarray([...MOMENTS], { minLength: MOMENTS.length }), { seed, numRuns: 1 })[0] ?? [];
}
