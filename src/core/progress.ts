// What the operator learns of a kind by looking at its objects again and again: which of them need work, and when the last one moved. Times are
// those of the operator's own monotonic clock, at its own readings. Pure.

import type { Problem } from "./errors";
import { arrayOf, type JsonObject, objectOf, textOf } from "./json";

/**
 * What an object needs of its controller:
 * - `due`: work.
 * - `done`: nothing.
 * - `paused`: nothing is expected, such as while a person has suspended it.
 * - `unknown`: the question cannot be answered for it.
 */
export type Work = "due" | "done" | "paused" | "unknown";

/** Metadata of an object. */
export interface KindObject {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number | undefined;
  readonly createdMs: number | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** Its metadata shows that nothing is expected. */
  readonly isPaused: boolean;
  /** It is being deleted, and waits for the last finalizer to be removed. */
  readonly isEnding: boolean;
  /** Changes when a controller has written: the status, or finalizers. Empty: none has. */
  readonly written: string;
  /** When the status was last changed, by the clock of the API server; -Infinity: unknown. */
  readonly writtenMs: number;
  /** Its status was last changed before its spec, by the clock of the API server: its controller has handled it, and not looked at it since. */
  readonly isOutdated: boolean;
}

/** What is asked about the objects of a kind. */
export interface KindQuestion {
  readonly apiVersion: string;
  readonly kind: string;
  /** Questions about a kind with the same id are the same. */
  readonly id: string;
  /** The definition of due: questions with the same one share the answer for an object. */
  readonly due: string;
  /** Reports whether the object is meant: one that is not also shows nothing about the controller. */
  readonly selects: (object: KindObject) => boolean;
  /** Answers for a whole object. Throws nothing. */
  readonly workOf: (object: JsonObject) => Work;
}

/** An object that is due. */
export interface DueObject extends Pick<KindObject, "namespace" | "name" | "createdMs" | "generation"> {
  /** status.observedGeneration, if it has one. */
  readonly observed: number | undefined;
  /** Since when it is seen to be due. */
  readonly dueMs: number;
  /** It was seen without work, or has a status from before its spec changed: its controller has handled it. */
  readonly wasDone: boolean;
  /** Its status has been written since it became due: its controller has looked at it. */
  readonly isLookedAt: boolean;
}

/** The answer to a question. */
export interface KindReading {
  readonly due: readonly DueObject[];
  /** When the status of one of the objects was last seen to change; -Infinity: never. */
  readonly movedMs: number;
  /** The same by the clock of the API server, also before this process. */
  readonly writtenMs: number;
  /** Since when the latest handled object had been due, as far as is known; -Infinity: none was. What is due for longer was passed over. */
  readonly passedMs: number;
  /** Since when the question is asked and readings have succeeded, without a break; Infinity: the last one failed. */
  readonly steadyMs: number;
  /** An object for which the question has no answer. */
  readonly unanswered?: string;
  /** Why the objects are not known yet, or not any more. Absent: they are known. */
  readonly unknown?: Problem;
  /** Returns when the status of one object was last seen to change, and written, as above. Undefined: there is no such object. */
  find(namespace: string, name: string): Pick<KindReading, "movedMs" | "writtenMs"> | undefined;
}

/** Who writes the status of the objects of a kind: the names of their field managers. */
export interface KindWriters {
  readonly apiVersion: string;
  readonly kind: string;
  readonly writers: readonly string[];
}

/** What is known of a kind before it is read. */
export const UNREAD_KIND: KindReading = {
  ...{ due: [], movedMs: -Infinity, writtenMs: -Infinity, passedMs: -Infinity, steadyMs: Infinity },
  find: () => undefined,
};

/** Returns the kinds of a discovery document, with the names of their resources. */
export function resourcesIn(document: JsonObject | null) {
  const named = arrayOf(document?.["resources"]).map(one => {
    const { kind, name, namespaced } = objectOf(one);
    return { kind: textOf(kind) ?? "", plural: textOf(name) ?? "", isClusterScoped: namespaced === false };
  });
  // The others are subresources.
  return named.filter(({ plural }) => plural !== "" && !plural.includes("/"));
}

/**
 * Returns the resource of a kind, as its name is formed as a rule; Kubernetes' own guess would be `gatewaies`. Admission checks the author's rights on it
 * (deploy/chart/templates/_helpers.tpl), so no other resource is read.
 */
export function guessResource(kind: string): string {
  const name = kind.toLowerCase();
  if (/(s|x|ch|sh)$/.test(name)) return name.endsWith("endpoints") ? name : `${name}es`;
  return /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`;
}
