import { KINDS, type Kind, pluralOf } from "../../core/kinds";
import { TerminalError } from "../../core/errors";
import type { ObjectRef } from "../../core/intent";

/** A resource of the Kubernetes API, as URLs name it. */
export type Resource = Pick<Kind, "group" | "version" | "plural">;

export interface Place {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string;
}

/** The Events of the core API, which the kubelet writes; the operator itself writes events.k8s.io. */
export const CORE_EVENTS: Resource = { ...KINDS.Event, group: "" };

/** @throws TerminalError for a kind that is not in {@link KINDS} */
export function resourceOf({ apiVersion, kind }: Pick<ObjectRef, "apiVersion" | "kind">): Resource {
  const plural = pluralOf(kind);
  if (plural === undefined) throw new TerminalError(`kind ${kind}: expected one of ${Object.keys(KINDS).join(", ")}`);
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  return { group, version, plural };
}

/** Returns the URL path, with escaped names. */
export function pathOf(resource: Resource, place: Place = {}): string {
  const segments = [
    ...(resource.group === "" ? ["api"] : ["apis", resource.group]),
    resource.version,
    ...(place.namespace === undefined ? [] : ["namespaces", place.namespace]),
    resource.plural,
    ...(place.name === undefined ? [] : [place.name]),
    ...(place.subresource === undefined ? [] : [place.subresource]),
  ];
  return segments.map(segment => `/${encodeURIComponent(segment)}`).join("");
}

/** Describes a call, such as `get pods kai/scheduler-0` or `list pods in kai`. */
export function describeCall(verb: string, resource: Resource, place: Place = {}): string {
  const plural = place.subresource === undefined ? resource.plural : `${resource.plural}/${place.subresource}`;
  if (place.name !== undefined) {
    return `${verb} ${plural} ${place.namespace === undefined ? "" : `${place.namespace}/`}${place.name}`;
  }
  return place.namespace === undefined ? `${verb} ${plural}` : `${verb} ${plural} in ${place.namespace}`;
}
