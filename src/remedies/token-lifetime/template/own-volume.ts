import { canonical, type JsonObject, objectOf } from "../../../core/json";
import type { VolumePatch } from "./model";
import { sourcesOf, withSeconds } from "./sources";

/** Name of the operator's volume, unless another volume has it. */
export const VOLUME_NAME = "controller-resilience-token";

/** The default of projected volumes, which admission sets too. */
const DEFAULT_MODE = 0o644;

/** The volume that the ServiceAccount admission plugin mounts (TokenVolumeSource), with another lifetime. */
export function ownVolume(name: string, expirationSeconds: number): VolumePatch {
  return {
    name,
    projected: {
      defaultMode: DEFAULT_MODE,
      sources: [
        { serviceAccountToken: { path: "token", expirationSeconds } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
    },
  };
}

/** Reports whether name and contents are those of the operator's volume, with any token lifetime. */
export function looksOwn(name: string, volume: JsonObject): boolean {
  return isOwnName(name) && canonical(withSeconds(volume, [0])) === canonical(sourcesOf({ ...ownVolume(name, 0) }));
}

/** Reports whether its files have the mode of the operator's volume. */
export function hasDefaultMode(volume: JsonObject): boolean {
  return (objectOf(volume["projected"])["defaultMode"] ?? DEFAULT_MODE) === DEFAULT_MODE;
}

/** Returns a name for the operator's volume that is not taken. */
export function freeName(taken: ReadonlySet<string>): string {
  let name = VOLUME_NAME;
  for (let suffix = 2; taken.has(name); suffix++) name = `${VOLUME_NAME}-${suffix}`;
  return name;
}

function isOwnName(name: string): boolean {
  return /^controller-resilience-token(-[1-9]\d*)?$/.test(name);
}
