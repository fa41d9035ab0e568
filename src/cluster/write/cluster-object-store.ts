import type {
  ClusterControllerResilience,
  ClusterControllerResilienceStatus,
} from "../../api/cluster-controller-resilience";
import { CLUSTER_KIND, MANAGER } from "../../api/names";
import type { ClusterObjectStore } from "../../core/cluster-wide";
import { KINDS } from "../../core/kinds";
import type { Api } from "../http/api";
import { describeCall, pathOf } from "../http/resources";
import type { ServedFields } from "./served-fields";

const RESOURCE = KINDS[CLUSTER_KIND];

export class ApiClusterObjectStore implements ClusterObjectStore {
  readonly #api: Pick<Api, "json" | "jsonOrNull">;

  readonly #served: ServedFields;

  constructor(api: Pick<Api, "json" | "jsonOrNull">, served: ServedFields) {
    this.#api = api;
    this.#served = served;
  }

  get(name: string): Promise<ClusterControllerResilience | null> {
    return this.#api.jsonOrNull<ClusterControllerResilience>({
      what: describeCall("get", RESOURCE, { name }),
      path: pathOf(RESOURCE, { name }),
    });
  }

  async writeStatus(object: ClusterControllerResilience, status: ClusterControllerResilienceStatus): Promise<void> {
    const place = { name: object.metadata.name, subresource: "status" };
    await this.#served.put(object.status, status, served =>
      this.#api.json({
        what: describeCall("update", RESOURCE, place),
        method: "PUT",
        path: pathOf(RESOURCE, place),
        query: { fieldManager: MANAGER, fieldValidation: "Strict" },
        body: { ...object, status: served },
      }),
    );
  }
}
