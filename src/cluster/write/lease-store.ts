import { MANAGER } from "../../api/names";
import type { LeaseRecord, LeaseStore } from "../../core/ports";
import type { Api } from "../http/api";
import { type JsonObject, numberOf, objectOf, textOf, textsOf, timeOf } from "../../core/json";
import { microTime } from "../../core/time";
import { callOf } from "../http/resources";
import { present } from "../read/received";
import { KINDS } from "../../core/kinds";
import { atLeast } from "./object-store";

const API_VERSION = "coordination.k8s.io/v1";

/** A second longer than the election waits for a call. */
const DEADLINE_MS = 5_000;

/** Metadata of other writers, besides annotations: an update replaces the whole object, so it has to repeat them. */
const OTHERS = ["labels", "ownerReferences", "finalizers"] as const;

/**
 * One coordination.k8s.io/v1 Lease. It needs a separate {@link Api}, so that no other call delays a renewal.
 *
 * @param onRestored called when the Lease has an earlier resourceVersion than it had before the call: etcd was restored from a backup. Every
 *   replica sees that, since only they write the Lease, and seldom, while the revision of etcd soon passes the one of before
 */
export function leaseStore(
  api: Pick<Api, "json" | "jsonOrNull">,
  place: { readonly namespace: string; readonly name: string },
  onRestored: () => void = () => undefined,
): LeaseStore {
  let newest: string | undefined;
  const call = (verb: "get" | "create" | "update") => ({
    ...callOf(verb, KINDS.Lease, place),
    deadlineMs: DEADLINE_MS,
  });
  const note = (lease: JsonObject, before: string | undefined): LeaseRecord => {
    const record = recordOf(lease);
    newest = record.resourceVersion;
    if (newest !== undefined && newest !== before && atLeast(before, newest)) onRestored();
    return record;
  };
  const write = async (verb: "create" | "update", record: LeaseRecord): Promise<LeaseRecord> => {
    const before = newest;
    const body = leaseOf(record, place);
    return note(await api.json({ ...call(verb), query: { fieldManager: MANAGER }, body }), before);
  };
  return {
    ref: { apiVersion: API_VERSION, kind: "Lease", ...place },
    async get() {
      const before = newest;
      const lease = await api.jsonOrNull<JsonObject>(call("get"));
      return lease === null ? null : note(lease, before);
    },
    create: record => write("create", record),
    update: record => write("update", record),
  };
}

function leaseOf(record: LeaseRecord, place: object): object {
  const { annotations = {}, resourceVersion } = record;
  return {
    apiVersion: API_VERSION,
    kind: "Lease",
    metadata: {
      ...record.others,
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...place,
      ...present({ resourceVersion }),
    },
    spec: {
      holderIdentity: record.holderIdentity,
      leaseDurationSeconds: record.leaseDurationSeconds,
      acquireTime: microTime(record.acquireTimeMs),
      renewTime: microTime(record.renewTimeMs),
      leaseTransitions: record.leaseTransitions,
    },
  };
}

/** Missing fields, as in a released Lease, become empty or zero. */
function recordOf(lease: JsonObject): LeaseRecord {
  const spec = objectOf(lease["spec"]);
  const metadata = objectOf(lease["metadata"]);
  const others = OTHERS.filter(field => metadata[field] !== undefined).map(field => [field, metadata[field]] as const);
  return {
    holderIdentity: textOf(spec["holderIdentity"]) ?? "",
    leaseDurationSeconds: numberOf(spec["leaseDurationSeconds"]) ?? 0,
    acquireTimeMs: timeOf(spec["acquireTime"]) ?? 0,
    renewTimeMs: timeOf(spec["renewTime"]) ?? 0,
    leaseTransitions: numberOf(spec["leaseTransitions"]) ?? 0,
    ...{ annotations: textsOf(metadata["annotations"]), others: Object.fromEntries(others) },
    ...present({ resourceVersion: textOf(metadata["resourceVersion"]) }),
  };
}
