import { type Container, mountPatch, readContainers } from "./containers";
import type { ContainerPatch, PreviousSeconds, TemplateInput, TemplatePatch, VolumePatch } from "./model";
import { freeName, hasDefaultMode, ownVolume } from "./own-volume";
import { withSeconds } from "./sources";
import { readVolumes, tokenVolumeOf, type Volume } from "./volumes";

/** The relevant parts of a template. */
export interface Reading {
  readonly volumes: readonly Volume[];
  readonly tokenVolume: Volume | undefined;
  readonly containers: readonly Container[];
}

/** Every field that the operator should own, and whether the template differs. */
export interface Arrangement {
  readonly patch: TemplatePatch;
  readonly previous: readonly PreviousSeconds[];
  readonly projects: boolean;
  readonly isChange: boolean;
}

/** Reads volumes and containers with their owners. */
export function readTemplate(input: TemplateInput, previous: readonly PreviousSeconds[]): Reading {
  const volumes = readVolumes(input, previous);
  const tokenVolume = tokenVolumeOf(volumes);
  return { volumes, tokenVolume, containers: readContainers(input, tokenVolume) };
}

/**
 * Computes the operator's fields for which no token lives longer than `bound` and the containers in `mounting` mount the operator's volume.
 * Items keep the template's order, because server-side apply would reorder the template otherwise.
 */
export function arrange(reading: Reading, bound: number, mounting: readonly Container[]): Arrangement {
  const { volumes, tokenVolume } = reading;
  const projects = mounting.length > 0;
  const kept = volumes.flatMap(volume => keptOf(volume, bound, projects && volume === tokenVolume));
  const name = tokenVolume?.name ?? freeName(new Set(volumes.map(volume => volume.name)));
  const fresh = projects && tokenVolume === undefined ? [ownVolume(name, bound)] : [];
  const mounts = mounting.some(({ has, isOdd }) => has === "Nothing" || isOdd);
  const leaves = volumes.some(volume => volume.isOurs && !(projects && volume === tokenVolume));
  return {
    patch: patchOf([...kept.map(({ patch }) => patch), ...fresh], mounting, name),
    previous: kept.flatMap(({ previous }) => previous),
    projects,
    isChange: mounts || leaves || kept.some(({ isChange }) => isChange),
  };
}

interface Kept {
  readonly patch: VolumePatch;
  readonly previous: readonly PreviousSeconds[];
  readonly isChange: boolean;
}

function keptOf(volume: Volume, bound: number, isMounted: boolean): Kept[] {
  const { name, raw, now, before, isOurs, isOwned } = volume;
  if (isOurs) {
    const isChange = now[0] !== bound || !hasDefaultMode(raw);
    return isMounted ? [{ patch: ownVolume(name, bound), previous: [], isChange }] : [];
  }
  const wanted = before.map(seconds => Math.min(seconds, bound));
  const isChange = wanted.some((seconds, i) => seconds !== now[i]);
  if (!isOwned && !isChange) return [];
  const previous = before.map(expirationSeconds => ({ volume: name, expirationSeconds }));
  return [{ patch: { name, projected: { sources: withSeconds(raw, wanted) } }, previous, isChange }];
}

function patchOf(volumes: readonly VolumePatch[], mounting: readonly Container[], volume: string): TemplatePatch {
  const of = (list: Container["list"]): ContainerPatch[] =>
    mounting.filter(container => container.list === list).map(container => mountPatch(container, volume));
  const patch = { volumes, initContainers: of("initContainers"), containers: of("containers") };
  return Object.fromEntries(Object.entries(patch).filter(([, items]) => items.length > 0));
}
