import { MANAGER } from "../../api/names";
import type { ObjectRef } from "../../core/intent";
import type { LeaseRecord, LeaseStore } from "../../core/ports";
import type { Api } from "../http/api";
import { type JsonObject, numberOf, objectOf, textOf, textsOf, timeOf } from "../../core/json";
import { microTime } from "../../core/time";
import { callOf, pathOf } from "../http/resources";
import { present } from "../read/received";
import { KINDS } from "../../core/kinds";

const API_VERSION = "coordination.k8s.io/v1";

/** Half of the renew deadline of 10 s, so that a hanging call leaves time for a second one. */
const DEADLINE_MS = 5_000;

/** Metadata of other writers, besides annotations: an update replaces the whole object, so it has to repeat them. */
const OTHERS = ["labels", "ownerReferences", "finalizers"] as const;

/**
 * One coordination.k8s.io/v1 Lease. It needs a separate {@link Api}, so that no other call delays a renewal.
 */
export class ApiLeaseStore implements LeaseStore {
  readonly ref: ObjectRef;
  readonly #api: Pick<Api, "json" | "jsonOrNull">;
  readonly #place: { readonly namespace: string; readonly name: string };

  constructor(api: Pick<Api, "json" | "jsonOrNull">, lease: { readonly namespace: string; readonly name: string }) {
    this.#api = api;
    this.#place = lease;
    this.ref = { apiVersion: API_VERSION, kind: "Lease", ...lease };
  }

  async get(): Promise<LeaseRecord | null> {
    const lease = await this.#api.jsonOrNull<JsonObject>({ ...this.#call("get"), method: "GET" });
    return lease === null ? null : recordOf(lease);
  }

  async create(record: LeaseRecord): Promise<LeaseRecord> {
    const path = pathOf(KINDS.Lease, { namespace: this.#place.namespace });
    const request = { ...this.#call("create"), path, method: "POST", body: this.#leaseOf(record) } as const;
    return recordOf(await this.#api.json({ ...request, query: { fieldManager: MANAGER } }));
  }

  async update(record: LeaseRecord): Promise<LeaseRecord> {
    const request = { ...this.#call("update"), method: "PUT", body: this.#leaseOf(record) } as const;
    return recordOf(await this.#api.json({ ...request, query: { fieldManager: MANAGER } }));
  }

  #call(verb: string): { what: string; path: string; deadlineMs: number } {
    return { ...callOf(verb, KINDS.Lease, this.#place), deadlineMs: DEADLINE_MS };
  }

  #leaseOf(record: LeaseRecord): object {
    const { annotations = {}, resourceVersion } = record;
    return {
      apiVersion: API_VERSION,
      kind: "Lease",
      metadata: {
        ...record.others,
        ...(Object.keys(annotations).length > 0 && { annotations }),
        ...this.#place,
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
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
