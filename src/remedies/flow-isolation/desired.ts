import { FLOW_PREFIX } from "../../api/names";
import { ownedName, type Owner } from "../../core/owned";
import { canonical, isObject } from "../../core/json";
import type { ClusterKind, ClusterObjectView } from "../../core/views";

// Each object has its own FlowSchemas, so two objects never write the same one.

/** Name of the FlowSchema of a ServiceAccount's requests. */
export function flowSchemaName({ metadata }: Owner, account: string): string {
  return ownedName(FLOW_PREFIX, [metadata.namespace, account], [metadata.uid, account]);
}

/** Name of the FlowSchema of its requests for Leases, which matches before the other. */
export function leaseFlowSchemaName({ metadata }: Owner, account: string): string {
  const { namespace, uid } = metadata;
  return ownedName(`${FLOW_PREFIX}leases-`, [namespace, account], [uid, account, "leases"]);
}

/** A cluster-scoped object as the operator wants it. */
export interface DesiredObject {
  readonly kind: ClusterKind;
  readonly name: string;
  /** Identify the owner: an object of this name without these labels is foreign. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: object;
}

/** A desired object compared with the cluster. */
export type DesiredState =
  | { readonly is: "missing" }
  /** It exists as desired. */
  | { readonly is: "right"; readonly view: ClusterObjectView }
  /** It exists, and its spec or an annotation differs. */
  | { readonly is: "different"; readonly view: ClusterObjectView }
  /** It is being deleted; it can be created again afterwards. Until then its spec is in force. */
  | { readonly is: "deleting"; readonly view: ClusterObjectView; readonly isRight: boolean }
  /** Another owner's object has its name. */
  | { readonly is: "foreign"; readonly view: ClusterObjectView };

/** Reports whether an actual spec is as desired: {@link covers} or {@link equals}. */
export type SpecMatch = (actual: unknown, desired: unknown) => boolean;

/** Compares a desired object with the objects of its kind. Further labels and annotations make no difference. */
export function compareDesired(
  desired: DesiredObject,
  views: readonly ClusterObjectView[],
  isMatch: SpecMatch,
): DesiredState {
  const view = views.find(({ name }) => name === desired.name);
  if (view === undefined) return { is: "missing" };
  if (!covers(view.labels, desired.labels)) return { is: "foreign", view };
  const isRight = isMatch(view.spec, desired.spec) && covers(view.annotations, desired.annotations);
  if (view.deletedAtMs !== undefined) return { is: "deleting", view, isRight };
  return { is: isRight ? "right" : "different", view };
}

/** Returns the object that has the desired name; it can be foreign. */
export function viewIn(state: DesiredState): ClusterObjectView | undefined {
  return state.is === "missing" ? undefined : state.view;
}

/** Reports whether everything desired is there. Further fields are the API server's defaults; lists have equal lengths. */
export function covers(actual: unknown, desired: unknown): boolean {
  if (Array.isArray(desired)) {
    if (!Array.isArray(actual) || actual.length !== desired.length) return false;
    return desired.every((item, i) => covers(actual[i], item));
  }
  if (!isObject(desired)) return actual === desired;
  return isObject(actual) && Object.entries(desired).every(([key, value]) => covers(actual[key], value));
}

/** Reports whether nothing is missing and nothing was added. A field that is null is equal to an absent one. */
export function equals(actual: unknown, desired: unknown): boolean {
  return canonical(actual) === canonical(desired);
}
