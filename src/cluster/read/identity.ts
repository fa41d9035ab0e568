import { type JsonObject, objectOf, textOf, timeOf } from "../../core/json";

export interface Identity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdAtMs: number;
  readonly deletedAtMs?: number;
}

/** Returns null without uid, name or creation time, since decisions depend on them. */
export function identityOf(object: JsonObject): Identity | null {
  const metadata = objectOf(object["metadata"]);
  const name = textOf(metadata["name"]);
  const uid = textOf(metadata["uid"]);
  const createdAtMs = timeOf(metadata["creationTimestamp"]);
  if (name === undefined || uid === undefined || createdAtMs === undefined) return null;
  const deletedAtMs = timeOf(metadata["deletionTimestamp"]);
  return {
    namespace: textOf(metadata["namespace"]) ?? "",
    name,
    uid,
    resourceVersion: textOf(metadata["resourceVersion"]) ?? "",
    createdAtMs,
    ...(deletedAtMs === undefined ? {} : { deletedAtMs }),
  };
}
