// Made from crds/clustercontrollerresilience.yaml by "npm run generate". Do not edit.
// As read from the API server: what it defaults is always there; dates are RFC 3339 strings.
import type {ControllerResilienceSpec, LabelSelector, StatusCondition} from "./controller-resilience";

/**
 * ClusterControllerResilience protects the controllers of many namespaces. The operator keeps one ControllerResilience in each selected namespace.
 */
export interface ClusterControllerResilienceBody {
  spec: ClusterControllerResilienceSpec;
  status?: ClusterControllerResilienceStatus;
}
/**
 * spec defines which workloads to protect, where the operator may act, and how.
 */
export interface ClusterControllerResilienceSpec {
  /**
   * mode is Observe or Enforce. With Observe the generated objects decide and report, and the operator acts only in the namespaces that enforce selects. With Enforce it acts in every selected namespace.
   */
  mode: "Enforce" | "Observe";
  /**
   * suspend pauses every generated object.
   */
  suspend: boolean;
  /**
   * Label selector of the namespaces to protect. Empty selects every namespace but kube-node-lease and that of the operator. A Namespace with the label or annotation controller-resilience.io/protect "true" is selected as well, one with "false" is not.
   */
  namespaceSelector: LabelSelector;
  /**
   * Names of namespaces that are never selected, whatever their labels. A name may end with `*`.
   */
  excludeNamespaces: string[];
  workloads: WorkloadsSpec;
  /**
   * enforce lets the operator act in some of the selected namespaces, while the others stay in Observe.
   */
  enforce?: {
    /**
     * Label selector of the namespaces where the operator acts.
     */
    namespaceSelector: LabelSelector;
  };
  /**
   * template is the rest of the spec of each generated ControllerResilience, all but its targets, mode and suspend. The presence of a block activates its remedy; `{}` uses every default.
   */
  template: Omit<ControllerResilienceSpec, "mode" | "suspend" | "targets">;
}
/**
 * workloads selects among the workloads of the selected namespaces that use the Kubernetes API: their pods mount a ServiceAccount token, and a RoleBinding or ClusterRoleBinding names the ServiceAccount or its namespace's group. A protected workload stays selected when its binding goes. The label or annotation controller-resilience.io/protect "true" selects any workload of these kinds.
 */
export interface WorkloadsSpec {
  /**
   * Kinds to protect.
   */
  kinds: ("Deployment" | "StatefulSet" | "DaemonSet")[];
  /**
   * Label selector on the labels of the workload itself. Empty selects all.
   */
  selector: LabelSelector;
}
/**
 * status is written by the operator.
 */
export interface ClusterControllerResilienceStatus {
  /**
   * Generation of the spec that status describes. -1 before the operator has looked.
   */
  observedGeneration?: number;
  /**
   * Number of selected namespaces.
   */
  namespaces?: number;
  /**
   * Number of namespaces where the operator acts: their generated object has mode Enforce, and neither suspend, the skip annotation nor --mode=Observe stops it.
   */
  enforced?: number;
  /**
   * Number of selected workloads, those included that a hand-written ControllerResilience protects.
   */
  workloads?: number;
  /**
   * Number of those that a generated or hand-written ControllerResilience protects.
   */
  protected?: number;
  /**
   * Number of generated ControllerResiliences.
   */
  objects?: number;
  /**
   * Workloads that no generated object lists, counted by reason. Those that do not use the API are not counted.
   */
  excluded?: ExcludedCount[];
  /**
   * What keeps workloads from being protected as this object asks; at most 32 entries.
   */
  conflicts?: ClusterConflict[];
  /**
   * Number of conflicts, those included that are not listed.
   */
  conflictsTotal?: number;
  /**
   * Kinds that a selected workload seems to handle, by the names of those who write their status, and that no stallDetection.progress follows; at most 20. Of the kinds that the operator may list. It acts on none of them.
   */
  suggestions?: KindSuggestion[];
  /**
   * Ready, Reconciling and Stalled, as kstatus defines them, and Covered: every workload that uses the API, in all namespaces, is protected or excluded on purpose.
   */
  conditions?: StatusCondition[];
}
export interface ExcludedCount {
  /**
   * HandWritten, OtherClusterObject, OptedOut, OperatorNamespace, Terminating, NamespaceNotSelected, KindNotSelected or WorkloadNotSelected.
   */
  reason: string;
  /**
   * Number of workloads.
   */
  count: number;
}
export interface ClusterConflict {
  /**
   * Namespace of the workloads.
   */
  namespace: string;
  /**
   * OtherClusterObject: another ClusterControllerResilience selects them too, and the older one protects them. Refused: the API server refuses a read or write in the namespace, or fails for ten minutes, or it has workloads that do not fit into one generated object.
   */
  reason: string;
  /**
   * Message for people.
   */
  message: string;
}
export interface KindSuggestion {
  /**
   * The workload, as namespace/kind/name.
   */
  workload: string;
  /**
   * As in an entry of stallDetection.progress.
   */
  apiVersion: string;
  /**
   * As in an entry of stallDetection.progress.
   */
  kind: string;
}
