// Made from crds/controllerresilience.yaml by "npm run generate". Do not edit.

/** The values that the API server accepts in fields of the spec, by path. */
export const CHOICES: readonly (readonly [path: string, values: readonly string[]])[] = [
  ["mode", ["Enforce", "Observe"]],
  ["targets[].kind", ["Deployment", "StatefulSet", "DaemonSet"]],
  ["targets[].selector.matchExpressions[].operator", ["In", "NotIn", "Exists", "DoesNotExist"]],
  ["tokenRestart.evidence[]", ["Logs", "ServiceAccountAge", "SandboxEvents"]],
  ["bindingRenewal.bindings[].kind", ["RoleBinding", "ClusterRoleBinding"]],
  ["tokenLifetime.defaultToken", ["Project", "Leave"]],
  ["flowIsolation.requestRate.onRunaway", ["Report", "Throttle"]],
  ["stallDetection.evidence[]", ["Lease", "Forbidden", "LeaderLoss"]],
  ["stallDetection.onStall", ["Report", "Restart"]],
  ["stallDetection.progress[].selector.matchExpressions[].operator", ["In", "NotIn", "Exists", "DoesNotExist"]],
  ["stallDetection.metrics.scheme", ["HTTP", "HTTPS"]],
];
