import type { ControllerResilience } from "../../../src/api/controller-resilience";
import { EXPIRY } from "../../enforcers/rules";
import { NAME, protect, type Scenario, type Scene, says, type State } from "../scenario";
import { bindingRenewal, bindingsOf } from "../scenarios/binding-renewal";
import { staleTokenOf } from "../scenarios/stale-token";
import type { Collection } from "./old-view";

/** Something that happens once, and that an old list says has not happened yet. */
export interface Story {
  readonly name: string;
  readonly scenario: Scenario;
  readonly collection: Collection;
  readonly deed: string;
  /** The operator is asked to see to it; returns the object as it is before it knows anything. */
  trigger(scene: Scene): Promise<ControllerResilience>;
  /** What somebody does after it was done. */
  afterwards?(scene: Scene): Promise<void>;
  /** What of the state holds also while the old list is shown. */
  readonly fixed: readonly string[];
  /** When all has happened. */
  isOver(state: State): boolean;
}

/** The shortest that there is: whoever believes the old list may evict again soon. */
const TOKEN_RESTART = { cooldown: "30s" };
const BINDING_RENEWAL = { extendBy: "24h" };
const TEN_DAYS_MS = 240 * 3_600_000;

const renewal = {
  scenario: bindingRenewal,
  collection: "rolebindings",
  deed: "PATCH rolebindings",
  fixed: ["hours"],
  trigger: (scene: Scene) => protect(scene, "Deployment", { bindingRenewal: BINDING_RENEWAL }),
  isOver: (state: State) => bindingRenewal.isOver(state),
} as const;

/** Each of them ends in a state that the old list contradicts. */
export const STORIES: readonly Story[] = [
  { ...renewal, name: "a binding was renewed" },
  {
    ...renewal,
    name: "a binding was renewed, and then given a later end by a person",
    afterwards: async scene => {
      const annotations = {
        [EXPIRY.ownExpiresAt]: new Date(Date.now() + TEN_DAYS_MS).toISOString().replace(/\.\d+/, ""),
      };
      await scene.admin.patch(`${bindingsOf(scene)}/${NAME}`, { metadata: { annotations } });
    },
  },
  {
    ...renewal,
    name: "a binding was revoked",
    fixed: ["hours", "conditions"],
    afterwards: scene => scene.admin.delete(`${bindingsOf(scene)}/${NAME}`),
    isOver: state => says(state, "BindingsCurrent", "Revoked"),
  },
  restart("StatefulSet", "a pod was replaced by one of its name"),
  restart("Deployment", "a pod was replaced"),
];

function restart(kind: "Deployment" | "StatefulSet", name: string): Story {
  const scenario = staleTokenOf(kind);
  return {
    name,
    scenario,
    collection: "pods",
    deed: "POST pods/eviction",
    fixed: ["pods", "restartsTotal"],
    trigger: scene => protect(scene, kind, { tokenRestart: TOKEN_RESTART }),
    isOver: state => scenario.isOver(state),
  };
}
