import { canonical } from "./json";
import { type JsonObject, objectOf } from "../../../core/json";
import type { VolumePatch } from "./model";
import { sourcesOf, withSeconds } from "./sources";

/** Name of the operator's volume, if nobody else has taken it. */
export const VOLUME_NAME = "controller-resilience-token";

/** As in every projected volume for which nobody asks for other modes, and as admission sets it. */
const DEFAULT_MODE = 0o644;

/** Exactly what the ServiceAccount admission plugin mounts (TokenVolumeSource), with another life. */
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

/** By its name and by what is in it; the life of the token may be any. */
export function looksOwn(name: string, volume: JsonObject): boolean {
  return isOwnName(name) && canonical(withSeconds(volume, [0])) === canonical(sourcesOf({ ...ownVolume(name, 0) }));
}

/** Files in it can be read as in the operator's own. */
export function hasDefaultMode(volume: JsonObject): boolean {
  return (objectOf(volume["projected"])["defaultMode"] ?? DEFAULT_MODE) === DEFAULT_MODE;
}

/** A name for the operator's volume that is not among these. */
export function freeName(taken: ReadonlySet<string>): string {
  let name = VOLUME_NAME;
  for (let suffix = 2; taken.has(name); suffix++) name = `${VOLUME_NAME}-${suffix}`;
  return name;
}

function isOwnName(name: string): boolean {
  return /^controller-resilience-token(-[1-9]\d*)?$/.test(name);
}
