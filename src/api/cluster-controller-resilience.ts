import type { ObjectMetadata } from "./controller-resilience";
import type { ClusterControllerResilienceBody } from "./generated/cluster-controller-resilience";

export type {
  ClusterConflict,
  ClusterControllerResilienceSpec,
  ClusterControllerResilienceStatus,
  ExcludedCount,
  KindSuggestion,
  WorkloadsSpec,
} from "./generated/cluster-controller-resilience";

/** A ClusterControllerResilience as read from the API server, so every default of the schema is present. */
export interface ClusterControllerResilience extends ClusterControllerResilienceBody {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Omit<ObjectMetadata, "namespace">;
}
