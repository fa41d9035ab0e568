import type {
  ClusterControllerResilience,
  ClusterControllerResilienceStatus,
} from "../../api/cluster-controller-resilience";
import { CLUSTER_KIND, MANAGER } from "../../api/names";
import type { ClusterObjectStore } from "../../core/cluster-wide";
import { KINDS } from "../../core/kinds";
import type { Api } from "../http/api";
import { describeCall, pathOf } from "../http/resources";

const RESOURCE = KINDS[CLUSTER_KIND];

export class ApiClusterObjectStore implements ClusterObjectStore {
  readonly #api: Pick<Api, "json" | "jsonOrNull">;

  constructor(api: Pick<Api, "json" | "jsonOrNull">) {
    this.#api = api;
  }

  get(name: string): Promise<ClusterControllerResilience | null> {
    return this.#api.jsonOrNull<ClusterControllerResilience>({
      what: describeCall("get", RESOURCE, { name }),
      path: pathOf(RESOURCE, { name }),
    });
  }

  /** Strict validation rejects a field that the schema does not have, instead of dropping it. */
  async writeStatus(object: ClusterControllerResilience, status: ClusterControllerResilienceStatus): Promise<void> {
    const place = { name: object.metadata.name, subresource: "status" };
    await this.#api.json({
      what: describeCall("update", RESOURCE, place),
      method: "PUT",
      path: pathOf(RESOURCE, place),
      query: { fieldManager: MANAGER, fieldValidation: "Strict" },
      body: { ...object, status },
    });
  }
}
