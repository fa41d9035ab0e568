import type { ControllerResilience } from "../api/controller-resilience";
import { SKIP_ANNOTATION } from "../api/names";

/**
 * Whether the operator acts for an object, or only observes it, and why: `spec.mode` is Observe, the operator runs with `--mode=Observe`, or the
 * Namespace of the object has the skip annotation. Only `Enforce` allows writes besides status, Events and cleanup.
 */
export type Mode = "Enforce" | "Observe" | "OperatorObserves" | "NamespaceSkipped";

/** An object with its mode in this pass, which wins over `spec.mode`. */
export type ObjectInMode = ControllerResilience & { readonly mode: Mode };

/** The modes that observe. */
export type ObserveMode = Exclude<Mode, "Enforce">;

const WHY: Readonly<Record<ObserveMode, string>> = {
  Observe: "mode Observe",
  OperatorObserves: "the operator runs with --mode=Observe",
  NamespaceSkipped: `the Namespace has the annotation ${SKIP_ANNOTATION}`,
};

/** Returns why nothing is written, such as `the operator runs with --mode=Observe`. */
export function whyObserved(mode: ObserveMode): string {
  return WHY[mode];
}

/** Returns the sentence that Ready ends with while what wins over `spec.mode` lets the operator only observe; undefined in other modes. */
export function observedSentence(mode: Mode): string | undefined {
  return mode === "Enforce" || mode === "Observe" ? undefined : `Only observed: ${whyObserved(mode)}.`;
}

/** Returns the mode that the message of Ready tells; undefined if it tells none. */
export function modeIn(message: string): ObserveMode | undefined {
  return (["OperatorObserves", "NamespaceSkipped"] as const).find(mode =>
    message.includes(observedSentence(mode) ?? ""),
  );
}

/** Returns the part of a sentence before the verb of what is not done, such as `in Enforce mode the operator would`. */
export function whatWould(mode: ObserveMode): string {
  if (mode === "Observe") return "in Enforce mode the operator would";
  return `${WHY[mode]}, else ${mode === "OperatorObserves" ? "it" : "the operator"} would`;
}

/** Returns the text as the beginning of a sentence. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
