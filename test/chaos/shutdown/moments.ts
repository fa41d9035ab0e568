import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describeCall } from "../calls";
import type { Rig } from "../rig";
import { type Scenario, type Scene, says, type State, until } from "../scenario";
import { bindingRenewal } from "../scenarios/binding-renewal";
import { staleToken } from "../scenarios/stale-token";
import { tokenTrial } from "../scenarios/token-lifetime";

/** How long an answer is delayed while the operator exits, in milliseconds. */
const HELD_MS = 2_000;
/** Longer than any exiting process waits; in milliseconds. */
const LOST_MS = 10_000;
const COMES_WITHIN_MS = 60_000;

/** The activity of the operator when it receives SIGTERM. */
export interface StopMoment {
  readonly name: string;
  readonly scenario: Scenario;
  /** The write that must happen exactly once. */
  readonly action: string;
  /** Whether status must record the interrupted action after the exit. */
  readonly isAccountedFor?: (state: State) => boolean;
  /** The Lease can't be released: others must wait until it expires, and the exit code reports it. */
  readonly isLeaseOut?: true;
  /** Triggers the prepared scenario; resolves when the operator is in the middle of the activity. */
  reach(rig: Rig, scene: Scene): Promise<void>;
}

/** Delays the answer to the first such call; later the answer is forwarded. */
function duringCall(call: string): StopMoment["reach"] {
  return async ({ proxy }, scene) => {
    let isHeld = false;
    proxy.interceptor = {
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

/** From the next renewal on, the server does not answer requests for the Lease; all other work is finished. */
async function withoutLease(rig: Rig, scene: Scene): Promise<void> {
  await untilRenewed(rig, scene);
  let isHeld = false;
  rig.proxy.interceptor = {
    before: ({ resource }) => {
      if (resource !== "leases") return Promise.resolve(undefined);
      isHeld = true;
      return sleep(LOST_MS).then(() => Promise.reject(new Error("the client no longer waits")));
    },
  };
  return until("a renewal of the Lease", () => Promise.resolve(isHeld), COMES_WITHIN_MS);
}

function untilRenewed(_rig: Rig, scene: Scene): Promise<void> {
  return until("the end", async () => isRenewed(await bindingRenewal.describe(scene)), COMES_WITHIN_MS);
}

const EVICTION = { scenario: staleToken, action: "POST pods/eviction" };
const RENEWAL = { scenario: bindingRenewal, action: "PATCH rolebindings" };
const TEMPLATE = { scenario: tokenTrial, action: "PATCH daemonsets" };

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
    name: "watching the rollout of a template change",
    reach: (_rig, scene) =>
      until("the change", async () => (await tokenTrial.describe(scene))["generation"] === 2, COMES_WITHIN_MS),
  },
];

/** The moments in an order that the seed decides. Pure. */
export function momentsOf(seed: number): readonly StopMoment[] {
  return fc.sample(fc.shuffledSubarray([...MOMENTS], { minLength: MOMENTS.length }), { seed, numRuns: 1 })[0] ?? [];
}
