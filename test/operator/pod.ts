import { OPERATOR } from "../cluster/installation";

/** Where the kubelet mounts a ServiceAccount's files, and every client reads them. */
const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The port of /healthz, /readyz and /metrics in a pod. */
export const HEALTH_PORT = 9440;

/** The labels of the operator's pod, and its environment. */
export interface PodOptions {
  readonly image: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly restartPolicy?: "Always" | "Never";
}

/** The operator's pod: complies with the level `restricted`, has no writable volume, and a token of ten minutes. */
export function operatorPodSpec({ image, env = {}, restartPolicy = "Always" }: PodOptions): object {
  const probe = (path: string): object => ({
    httpGet: { path, port: "health" },
    timeoutSeconds: 5,
    failureThreshold: 6,
  });
  return {
    serviceAccountName: OPERATOR.serviceAccount,
    automountServiceAccountToken: false,
    restartPolicy,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "operator",
        image,
        imagePullPolicy: "Never",
        env: Object.entries(env).map(([name, value]) => ({ name, value })),
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
        ports: [{ name: "health", containerPort: HEALTH_PORT }],
        readinessProbe: { ...probe("/readyz"), periodSeconds: 2 },
        livenessProbe: probe("/healthz"),
        // Output before the log exists, such as an invalid setting, becomes part of the pod's status.
        terminationMessagePolicy: "FallbackToLogsOnError",
        volumeMounts: [{ name: "service-account", mountPath: SERVICE_ACCOUNT, readOnly: true }],
      },
    ],
    volumes: [{ name: "service-account", projected: { sources: serviceAccountFiles } }],
  };
}

const serviceAccountFiles = [
  { serviceAccountToken: { path: "token", expirationSeconds: 600 } },
  { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
  { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
];
