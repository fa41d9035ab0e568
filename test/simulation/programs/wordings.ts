import { refusal } from "../server/rbac";
import type { Asked } from "./program";

/** When and where a record is written. */
export interface Moment {
  /** By the clock of the node, in milliseconds since 1970. */
  readonly ms: number;
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Name of the program, as its own records say it. */
  readonly program: string;
}

/** How a program writes what happens to its requests. */
export interface Wording {
  unauthorized(asked: Asked, at: Moment): string;
  forbidden(asked: Asked, at: Moment): string;
  /** A request for its Lease was answered so. */
  lease(code: 401 | 403, lease: string, at: Moment): string;
  /** It could not renew its Lease in time. */
  leaseLost(lease: string, at: Moment): string;
  /** A request was answered with something else, or not at all. */
  unavailable(asked: Asked, at: Moment): string;
  throttled(asked: Asked, at: Moment): string;
  /** Work went well. */
  progress(count: number, at: Moment): string;
}

const two = (value: number): string => String(value).padStart(2, "0");

/** `E0105 08:00:00.123456       1 reflector.go:178] `: the head of a klog record. */
export function klog(level: string, ms: number, place: string): string {
  const at = new Date(ms);
  const day = `${two(at.getUTCMonth() + 1)}${two(at.getUTCDate())}`;
  return `${level}${day} ${at.toISOString().slice(11, 23)}123       1 ${place}] `;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function userOf({ namespace, serviceAccount }: Moment): string {
  return `system:serviceaccount:${namespace}:${serviceAccount}`;
}

function leaseRefusal(code: 401 | 403, lease: string, at: Moment): string {
  if (code === 401) return "Unauthorized";
  const [namespace, name] = lease.split("/");
  const asked = { verb: "get", group: "coordination.k8s.io", resource: "leases", kind: "Lease", namespace, name };
  return refusal(asked as Asked, userOf(at));
}

/** What the three ages of client-go have in common. */
function clientGo(reflector: (asked: Asked, error: string, ms: number) => string): Wording {
  return {
    unauthorized: (asked, { ms }) => reflector(asked, "Unauthorized", ms),
    forbidden: (asked, at) => reflector(asked, refusal(asked, userOf(at)), at.ms),
    lease: (code, lease, at) =>
      `${klog("E", at.ms, "leaderelection.go:332")}error retrieving resource lock ${lease}: ${leaseRefusal(code, lease, at)}`,
    leaseLost: (lease, { ms }) =>
      `${klog("I", ms, "leaderelection.go:285")}failed to renew lease ${lease}: timed out waiting for the condition`,
    unavailable: (asked, { ms }) =>
      reflector(
        asked,
        `Get "https://10.96.0.1:443${pathOf(asked)}?limit=500": dial tcp 10.96.0.1:443: connect: connection refused`,
        ms,
      ),
    throttled: (asked, { ms }) =>
      `${klog("I", ms, "request.go:697")}Waited for 1.183s due to client-side throttling, not priority and fairness, request: GET:https://10.96.0.1:443${pathOf(asked)}`,
    progress: (count, { ms, program }) => `${klog("I", ms, "controller.go:214")}${program}: synced ${count} objects`,
  };
}

function pathOf({ group, resource, namespace }: Asked): string {
  const base = group === "" ? "/api/v1" : `/apis/${group}/v1`;
  return `${base}${namespace === undefined ? "" : `/namespaces/${namespace}`}/${resource}`;
}

/** client-go as of Kubernetes 1.9. */
export const CLIENT_GO_OLD = clientGo(
  ({ kind }, error, ms) =>
    `${klog("E", ms, "reflector.go:205")}example.com/harbour/vendor/k8s.io/client-go/informers/factory.go:86: Failed to list *v1.${kind}: ${error}`,
);

/** client-go as of Kubernetes 1.22. */
export const CLIENT_GO_MIDDLE = clientGo(
  ({ kind }, error, ms) =>
    `${klog("E", ms, "reflector.go:138")}k8s.io/client-go@v0.22.3/tools/cache/reflector.go:167: Failed to watch *v1.${kind}: failed to list *v1.${kind}: ${error}`,
);

/** client-go as of Kubernetes 1.33. */
export const CLIENT_GO_NEW = clientGo(
  ({ kind }, error, ms) =>
    `${klog("E", ms, "reflector.go:200")}"Failed to watch" err=${JSON.stringify(`failed to list *v1.${kind}: ${error}`)} logger="UnhandledError" reflector="k8s.io/client-go/informers/factory.go:160" type="*v1.${kind}"`,
);

function zap(level: string, ms: number, message: string, fields: object): string {
  return JSON.stringify({ level, ts: iso(ms), msg: message, ...fields });
}

/** controller-runtime with zap's JSON. */
export const CONTROLLER_RUNTIME: Wording = {
  unauthorized: ({ kind, namespace = "shop" }, { ms, program }) =>
    zap("error", ms, "Reconciler error", {
      ...{ controller: program, controllerGroup: "apps", controllerKind: kind, namespace, name: program },
      ...{ reconcileID: "8f2f1c5e-6a55-4f0b-9f3e-2f8a3c6d1b7a", error: "Unauthorized" },
    }),
  forbidden: (asked, at) =>
    zap("error", at.ms, "Reconciler error", { controller: at.program, error: refusal(asked, userOf(at)) }),
  lease: (code, lease, at) =>
    `${klog("E", at.ms, "leaderelection.go:436")}error retrieving resource lock ${lease}: ${leaseRefusal(code, lease, at)}`,
  leaseLost: (_, { ms }) =>
    zap("error", ms, "problem running manager", { logger: "setup", error: "leader election lost" }),
  unavailable: (asked, { ms, program }) =>
    zap("error", ms, "Reconciler error", {
      controller: program,
      error: `Get "https://10.96.0.1:443${pathOf(asked)}": dial tcp 10.96.0.1:443: connect: connection refused`,
    }),
  throttled: (_, { ms, program }) =>
    zap("error", ms, "Reconciler error", {
      controller: program,
      error: "the server has received too many requests and has asked us to try again later (get deployments.apps)",
    }),
  progress: (count, { ms, program }) => zap("info", ms, "reconciled", { controller: program, generation: count }),
};

function python(ms: number, logger: string, level: string, text: string): string {
  return `[${iso(ms).slice(0, 23).replace("T", " ").replace(".", ",")}] ${logger.padEnd(20)} [${level.padEnd(8)}] ${text}`;
}

/** kopf with its default format. */
export const KOPF: Wording = {
  unauthorized: ({ resource, group }, { ms }) =>
    python(
      ms,
      "kopf._core.reactor.o",
      "ERROR",
      `Watcher for ${resource}.v1.${group} @None has failed: Ran out of valid credentials. Consider installing an API client library or adding a login handler. See more: https://kopf.readthedocs.io/en/stable/authentication/`,
    ),
  forbidden: (asked, at) =>
    python(
      at.ms,
      "kopf._core.reactor.o",
      "ERROR",
      `Resource observer has failed: APIForbiddenError('${refusal(asked, userOf(at))}', {'kind': 'Status', 'code': 403})`,
    ),
  lease: (code, lease, at) =>
    python(at.ms, "kopf.objects", "ERROR", `error retrieving resource lock ${lease}: ${leaseRefusal(code, lease, at)}`),
  leaseLost: (lease, { ms }) => python(ms, "kopf.objects", "ERROR", `lost the lease ${lease}`),
  unavailable: (_, { ms }) =>
    python(
      ms,
      "kopf._cogs.clients.w",
      "ERROR",
      "Request attempt #1/9 failed; will retry: GET https://10.96.0.1:443/api/v1/namespaces -> ClientConnectorError",
    ),
  throttled: ({ namespace = "shop" }, { ms, program }) =>
    python(
      ms,
      "kopf.objects",
      "INFO",
      `[${namespace}/${program}] Throttling for 30 seconds due to an unexpected error`,
    ),
  progress: (count, { ms, namespace, program }) =>
    python(ms, "kopf.objects", "INFO", `[${namespace}/${program}] Handler 'reconcile' succeeded (${count}).`),
};

function java(level: string, ms: number, text: string): string {
  return `${iso(ms).slice(0, 23).replace("T", " ")} ${level} 1 --- [poller-3] e.harbour.sync.Poller : ${text}`;
}

/** fabric8 with Logback. */
export const FABRIC8: Wording = {
  unauthorized: (asked, { ms }) =>
    `${java("ERROR", ms, `cannot list ${asked.resource}`)}\nio.fabric8.kubernetes.client.KubernetesClientException: Failure executing: GET at: https://kubernetes.default.svc${pathOf(asked)}. Message: Unauthorized. Received status: Status(apiVersion=v1, code=401, details=null, kind=Status, message=Unauthorized, metadata=ListMeta(_continue=null, remainingItemCount=null, resourceVersion=null, selfLink=null, additionalProperties={}), reason=Unauthorized, status=Failure, additionalProperties={}).\n\tat example.harbour.sync.Poller.refresh(Poller.java:113)\n\tat example.harbour.sync.Poller.run(Poller.java:58)`,
  forbidden: (asked, at) =>
    `${java("ERROR", at.ms, `cannot list ${asked.resource}`)}\nio.fabric8.kubernetes.client.KubernetesClientException: Failure executing: GET at: https://kubernetes.default.svc${pathOf(asked)}. Message: ${refusal(asked, userOf(at))}. Received status: Status(apiVersion=v1, code=403, kind=Status, reason=Forbidden, status=Failure).`,
  lease: (code, lease, at) =>
    `${java("ERROR", at.ms, "Exception occurred while acquiring lock")}\nio.fabric8.kubernetes.client.KubernetesClientException: Failure executing: GET at: https://kubernetes.default.svc/apis/coordination.k8s.io/v1/namespaces/${lease.replace("/", "/leases/")}. Message: ${leaseRefusal(code, lease, at)}. Received status: Status(apiVersion=v1, code=${code}, kind=Status, reason=${code === 401 ? "Unauthorized" : "Forbidden"}, status=Failure).`,
  leaseLost: (lease, { ms }) =>
    java("INFO", ms, `Lost leadership, lock 'LeaseLock: ${lease.replace("/", " - ")} (0c8)'`),
  unavailable: (_, { ms }) => java("WARN", ms, "Failed to connect to kubernetes.default.svc/10.96.0.1:443"),
  throttled: (asked, { ms }) =>
    java("WARN", ms, `GET https://kubernetes.default.svc${pathOf(asked)}: Too Many Requests from the apiserver`),
  progress: (count, { ms }) => java("INFO", ms, `polled ${count} objects`),
};

/** kube-rs with tracing. */
export const KUBE_RS: Wording = {
  unauthorized: (_, { ms }) =>
    `${iso(ms)}  WARN kube_runtime::watcher: watch list error with 401: Api(ErrorResponse { status: "Failure", message: "Unauthorized", reason: "Unauthorized", code: 401 })`,
  forbidden: (asked, at) =>
    `${iso(at.ms)}  WARN kube_runtime::watcher: watch list error with 403: Api(ErrorResponse { status: "Failure", message: ${JSON.stringify(refusal(asked, userOf(at)))}, reason: "Forbidden", code: 403 })`,
  lease: (code, lease, at) =>
    `${iso(at.ms)} ERROR harbour::lease: failed to renew ${lease.split("/")[1] ?? ""}: ApiError: ${leaseRefusal(code, lease, at)} (ErrorResponse { status: "Failure", message: ${JSON.stringify(leaseRefusal(code, lease, at))}, reason: "${code === 401 ? "Unauthorized" : "Forbidden"}", code: ${code} })`,
  leaseLost: (_, { ms }) => `${iso(ms)} ERROR harbour::lease: lost the lease`,
  unavailable: (_, { ms }) =>
    `${iso(ms)}  WARN kube_runtime::watcher: watch list error: HyperError: error trying to connect: tcp connect error: Connection refused (os error 111)`,
  throttled: (_, { ms }) =>
    `${iso(ms)}  WARN kube_runtime::watcher: watch list error with 429: Api(ErrorResponse { status: "Failure", message: "too many requests", reason: "TooManyRequests", code: 429 })`,
  progress: (count, { ms }) => `${iso(ms)}  INFO harbour::controller: reconciled objects=${count}`,
};
