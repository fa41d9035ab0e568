import type { ControllerResilienceBody } from "./generated/controller-resilience";

export type {
  BindingRenewalSpec,
  BindingStatus,
  ControllerResilienceSpec,
  ControllerResilienceStatus,
  DaemonSetStatus,
  FlowIsolationSpec,
  FlowStatus,
  LabelSelector,
  MetricsSpec,
  PreviousExpiration,
  ProgressSpec,
  RestartStatus,
  StallDetectionSpec,
  StallStatus,
  StatusCondition,
  TargetSelector,
  TargetStatus,
  TokenLifetimeSpec,
  TokenRestartSpec,
} from "./generated/controller-resilience";

/** The metadata fields that this project reads. Times are RFC 3339 strings, as the API server returns them. */
export interface ObjectMetadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

/** An owner of an object. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

/** A ControllerResilience as read from the API server, so every default of the schema is present. */
export interface ControllerResilience extends ControllerResilienceBody {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMetadata;
}
