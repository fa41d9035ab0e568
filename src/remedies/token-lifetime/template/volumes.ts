import type { JsonObject } from "../../../core/json";
import { namedOf } from "./json";
import { podSpecOf, type PreviousSeconds, type TemplateInput } from "./model";
import { hasDefaultMode, looksOwn } from "./own-volume";
import { secondsOf } from "./sources";

/** A volume of the template and its owner. */
export interface Volume {
  readonly name: string;
  readonly raw: JsonObject;
  /** The operator's field manager owns its sources. */
  readonly isOwned: boolean;
  /** The operator created it, and removes it when it is not needed any more. */
  readonly isOurs: boolean;
  /** Current lifetimes of its API server tokens. */
  readonly now: readonly number[];
  /** Their lifetimes before the operator's change. */
  readonly before: readonly number[];
}

/** All volumes that have a name, in order. */
export function readVolumes(input: TemplateInput, previous: readonly PreviousSeconds[]): readonly Volume[] {
  const owned = new Set(input.ownedVolumes);
  return namedOf(podSpecOf(input)["volumes"]).map(raw => {
    const { name } = raw;
    const known = previous.filter(({ volume }) => volume === name).map(({ expirationSeconds }) => expirationSeconds);
    const now = secondsOf(raw);
    // Without ownership the recorded lifetimes are out of date.
    const before = owned.has(name) ? now.map((seconds, i) => known[i] ?? seconds) : now;
    // Only foreign volumes have recorded lifetimes.
    const isOurs = owned.has(name) && known.length === 0 && looksOwn(name, raw);
    return { name, raw, isOwned: owned.has(name), isOurs, now, before };
  });
}

/** The volume that containers without a token mount: the operator's, or one that is equal to it. */
export function tokenVolumeOf(volumes: readonly Volume[]): Volume | undefined {
  const lookalike = ({ name, raw }: Volume): boolean => looksOwn(name, raw) && hasDefaultMode(raw);
  return volumes.find(({ isOurs }) => isOurs) ?? volumes.find(lookalike);
}
