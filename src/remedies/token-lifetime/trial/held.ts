import type { DaemonSetStatus } from "../../../api/controller-resilience";

/** A trial that does not go on leaves OnDelete in place; undefined: there is none. Pure. */
export function describeHeldTrials(entries: readonly Pick<DaemonSetStatus, "name" | "outcome">[]): string | undefined {
  const names = entries.filter(({ outcome }) => outcome === "Trial").map(({ name }) => name);
  if (names.length === 0) return undefined;
  return `DaemonSet ${names.join(", ")}: updateStrategy OnDelete of the trial holds every update of the template; let this object go on, or take it back by hand (docs/remedies/token-lifetime.md).`;
}
