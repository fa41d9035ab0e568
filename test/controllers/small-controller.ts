import { LEASES, rightsOf, serviceAccount, workload, type WorkloadKind } from "../cluster/objects";

/** A program in its own Deployment, with its own ServiceAccount that may list and watch ConfigMaps. */
export interface SmallControllerOptions {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly replicas?: number;
  /** If false, its requests are answered 403. */
  readonly mayRead?: boolean;
  readonly kind?: WorkloadKind;
  /** It may use the Lease LEASE of the same name, by the RoleBinding `NAME-lease`. */
  readonly lease?: boolean;
}

const CONFIG_MAPS = { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] };

/** All its objects except the namespace. */
export function smallController(options: SmallControllerOptions): object[] {
  const { namespace, name, image, command, replicas = 1, mayRead = true, kind = "Deployment", lease = false } = options;
  const account = { namespace, name };
  const env = [{ name: "NAMESPACE", value: namespace }, ...(lease ? [{ name: "LEASE", value: name }] : [])];
  const containers = [{ name, image, imagePullPolicy: "IfNotPresent", command, env }];
  const more = kind === "StatefulSet" ? { replicas, serviceName: name } : { replicas };
  return [
    serviceAccount(account),
    ...(mayRead ? rightsOf(account, account, CONFIG_MAPS) : []),
    ...(lease ? rightsOf(account, { namespace, name: `${name}-lease` }, LEASES) : []),
    workload(kind, account, { containers }, kind === "DaemonSet" ? {} : more),
  ];
}
