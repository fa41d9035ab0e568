import type { ControllerResilience } from "../../../src/api/controller-resilience";
import { EXPIRY } from "../../enforcers/rules";
import { NAME, protect, type Scenario, type Scene, says, type State } from "../scenario";
import { bindingRenewal, bindingsOf, RENEWAL } from "../scenarios/binding-renewal";
import { staleTokenOf } from "../scenarios/stale-token";
import type { Collection } from "./old-view";

/** A one-time action that an old list does not show yet. */
export interface Story {
  readonly name: string;
  readonly scenario: Scenario;
  readonly collection: Collection;
  readonly action: string;
  /** Creates the object that asks for the action; returns it without a status. */
  trigger(scene: Scene): Promise<ControllerResilience>;
  /** A change by another client after the action. */
  afterwards?(scene: Scene): Promise<void>;
  /** Parts of the state that must not change while the old list is shown. */
  readonly fixed: readonly string[];
  /** Whether the story has reached its final state. */
  isOver(state: State): boolean;
}

/** The shortest cooldown: an operator that trusts the old list may evict again soon. */
const TOKEN_RESTART = { cooldown: "30s" };
const TEN_DAYS_MS = 240 * 3_600_000;

const renewal = {
  scenario: bindingRenewal,
  collection: "rolebindings",
  action: "PATCH rolebindings",
  fixed: ["hours"],
  trigger: (scene: Scene) => protect(scene, "Deployment", { bindingRenewal: RENEWAL }),
  isOver: (state: State) => bindingRenewal.isOver(state),
} as const;

/** Each story ends in a state that contradicts the old list. */
export const STORIES: readonly Story[] = [
  { ...renewal, name: "a binding was renewed" },
  {
    ...renewal,
    name: "a binding was renewed, then extended by a person",
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
    isOver: state => says(state, "BindingsCurrent", "AccessEnded"),
  },
  restart("StatefulSet", "a pod was replaced by one with the same name"),
  restart("Deployment", "a pod was replaced"),
];

function restart(kind: "Deployment" | "StatefulSet", name: string): Story {
  const scenario = staleTokenOf(kind);
  return {
    name,
    scenario,
    collection: "pods",
    action: "POST pods/eviction",
    fixed: ["pods", "restartsTotal"],
    trigger: scene => protect(scene, kind, { tokenRestart: TOKEN_RESTART }),
    isOver: state => scenario.isOver(state),
  };
}
