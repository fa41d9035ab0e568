import type { JsonObject } from "../../../core/json";
import { namedOf } from "./json";
import { podSpecOf, type PreviousSeconds, type TemplateInput } from "./model";
import { hasDefaultMode, looksOwn } from "./own-volume";
import { secondsOf } from "./sources";

/** A volume of the template, and whose it is. */
export interface Volume {
  readonly name: string;
  readonly raw: JsonObject;
  /** The operator's field manager owns its sources. */
  readonly isOwned: boolean;
  /** The operator made it: it goes when it is not needed any more. */
  readonly isOurs: boolean;
  /** Lives of its tokens for the API server as they are. */
  readonly now: readonly number[];
  /** The same, as they were before the operator came. */
  readonly before: readonly number[];
}

/** All volumes that have a name, in their order. */
export function readVolumes(input: TemplateInput, previous: readonly PreviousSeconds[]): readonly Volume[] {
  const owned = new Set(input.ownedVolumes);
  return namedOf(podSpecOf(input)["volumes"]).map(raw => {
    const { name } = raw;
    const known = previous.filter(({ volume }) => volume === name).map(({ expirationSeconds }) => expirationSeconds);
    const now = secondsOf(raw);
    // Of a volume that is not owned any more, or not yet, what is known from before is out of date.
    const before = owned.has(name) ? now.map((seconds, i) => known[i] ?? seconds) : now;
    // One that was somebody else's has its seconds written down; the operator's own has not.
    const isOurs = owned.has(name) && known.length === 0 && looksOwn(name, raw);
    return { name, raw, isOwned: owned.has(name), isOurs, now, before };
  });
}

/** The volume that containers without a token are to mount: the operator's own, or one that can't be told from it. */
export function tokenVolumeOf(volumes: readonly Volume[]): Volume | undefined {
  const lookalike = ({ name, raw }: Volume): boolean => looksOwn(name, raw) && hasDefaultMode(raw);
  return volumes.find(({ isOurs }) => isOurs) ?? volumes.find(lookalike);
}
