import { describe, expect, it } from "vitest";
import { type LogClass, classify } from "./classify";

const TIME = "2024-03-01T09:12:44.113201599Z";

/** What a program says, by what it means. One line each: every logger below can carry it. */
const SAID: Readonly<Record<Exclude<LogClass, "none">, readonly string[]>> = {
  unauthorized: [
    "Unauthorized",
    "failed to list *v1.Pod: Unauthorized",
    "Failed to watch *v1.Widget: failed to list *v1.Widget: Unauthorized",
    "the server has asked for the client to provide credentials",
    "Failed to watch *v1.Pod: the server has asked for the client to provide credentials (get pods)",
    "error retrieving resource lock shop/web-leader: Unauthorized",
    "Failed to update lock optimistically: Unauthorized, falling back to slow path",
    "connection is unauthorized: Unauthorized",
    "patching Deployment shop/web: Unauthorized",
    "failed to get API group resources: unable to retrieve the complete list of server APIs: apps/v1: Unauthorized",
    "query: failed to query with labels: Unauthorized",
    'unexpected status code 401 from "https://10.96.0.1:443/api/v1/pods"',
    'Get "https://kubernetes.default.svc/apis/apps/v1/deployments": 401 Unauthorized',
    "401 Client Error: Unauthorized for url: https://10.96.0.1:443/api/v1/namespaces/shop/pods",
    "kubernetes.client.exceptions.ApiException: (401)",
    "Ran out of valid credentials. Consider installing an API client library or adding a login handler.",
    'ApiError: Unauthorized: Unauthorized (ErrorResponse { status: "Failure", message: "Unauthorized", reason: "Unauthorized", code: 401 })',
    '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}',
    "Failure executing: GET at: https://10.96.0.1/api/v1/pods. Message: Unauthorized! Configured service account doesn't have access. Service account may have been revoked.",
    "io.kubernetes.client.openapi.ApiException: Unauthorized",
    "Operation returned an invalid status code 'Unauthorized'",
    "You must be logged in to the server (Unauthorized)",
  ],
  forbidden: [
    'pods is forbidden: User "system:serviceaccount:shop:web" cannot list resource "pods" in API group "" at the cluster scope',
    'connection is unauthorized: nodes "worker-3" is forbidden: User "system:serviceaccount:kube-system:cni" cannot get resource "nodes" in API group "" at the cluster scope',
    "failed to list *v1.Pod: Forbidden",
    "the server does not allow access to the requested resource (get pods)",
    "Failed to watch *v1.Pod: unknown (get pods)",
    'watch failed: Api(ErrorResponse { status: "Failure", message: "pods is forbidden", reason: "Forbidden", code: 403 })',
    "k8s.Autorest.HttpOperationException: Operation returned an invalid status code 'Forbidden'",
  ],
  "lease-lost": [
    "leader election lost",
    "failed to renew lease shop/web-leader: timed out waiting for the condition",
    "failed to renew lease shop/web-leader: context deadline exceeded",
  ],
  throttled: [
    "Waited for 2.1s due to client-side throttling, not priority and fairness, request: GET:https://10.96.0.1:443/apis/apps/v1",
    "client rate limiter Wait returned an error: context deadline exceeded",
    "Throttling request took 1.1s, request: GET:https://10.96.0.1:443/api/v1/pods",
    "the server has received too many requests and has asked us to try again later (get pods)",
  ],
};

/** Answers to other clients, in the words of a 401, and watches that end. */
const INNOCENT: readonly string[] = [
  'GET "https://registry.example/v2/web/tags/list": unexpected status code 401: unauthorized: authentication required',
  "failed to list refs of https://git.example/shop/web.git: authentication required: Unauthorized",
  "PATCH https://dns.provider.example/v4/zones/1: 401 Unauthorized: invalid API token",
  "server returned HTTP status 401 Unauthorized (401): no org id",
  'admission webhook "guard.policy.example" denied the request: Unauthorized',
  "unable to upgrade connection: Unauthorized",
  "the server has asked for the client to provide credentials ( pods/log web-1)",
  'Get "https://192.0.2.4:10250/metrics/resource": request failed, status: "401 Unauthorized"',
  "rpc error: code = Unauthenticated desc = authentication failure",
  "error from Grafana (401): Unauthorized",
  'plugin type="calico" failed (add): error getting ClusterInformation: connection is unauthorized: Unauthorized',
  "[invalid bearer token, service account token has expired]",
  "Error making API request.\n\nURL: PUT https://vault.example:8200/v1/auth/kubernetes/login\nCode: 401. Errors:\n\n* Unauthorized",
  "synced 401 objects in 401ms",
  "401: The event in requested index is outdated and cleared",
  "HTTP status client error (401 Unauthorized) for url (https://billing.example/v1/invoices)",
  "watch of *v1.Pod ended with: too old resource version: 1 (2)",
  'Failed to watch *v1.Pod: Get "https://10.96.0.1:443/api/v1/pods?watch=true": unexpected EOF',
];

const quoted = (said: string): string => JSON.stringify(said);
const json = (value: object): string => JSON.stringify(value);

/** How loggers write what a program says. */
const LOGGERS: Readonly<Record<string, (said: string) => string>> = {
  "nothing around it": s => s,
  "klog's text": s => `E0301 09:12:44.113201       1 sync.go:401] ${s}`,
  "klog's structure": s =>
    `E0301 09:12:44.113201       1 sync.go:401] "Sync failed" err=${quoted(s)} object="shop/web"`,
  "klogr's quotes": s =>
    `E0301 09:12:44.113201       1 sync.go:88] web "msg"="Sync failed" "error"=${quoted(s)} "name"="web"  `,
  "klog's JSON": s => json({ ts: 1709284364113.2, caller: "sync/main.go:401", msg: "sync failed", err: s }),
  "zap's JSON": s =>
    json({ level: "error", ts: "2024-03-01T09:12:44Z", logger: "vault", msg: "Reconciler error", name: "a", error: s }),
  "zap's console": s =>
    `2024-03-01T09:12:44.113Z\tERROR\tcontrollers\tsync/loop.go:401\tReconciler error\t${json({ name: "web", error: s })}`,
  "zap's stack": s =>
    `2024-03-01T09:12:44.113Z\tERROR\tsetup\tstopped\t${json({ error: s })}\nmain.main\n\t/src/cmd/main.go:401\nruntime.main\n\t/usr/local/go/src/runtime/proc.go:267`,
  "pretty JSON": s => JSON.stringify({ level: "error", msg: "Reconciler error", error: s }, null, 2),
  logrus: s => `time="2024-03-01T09:12:44Z" level=error msg="sync failed" error=${quoted(s)} subsys=k8s`,
  "logrus on a terminal": s =>
    `\x1b[31mERRO\x1b[0m[0401] sync failed                       \x1b[31merror\x1b[0m=${quoted(s)}`,
  "logrus' JSON": s => json({ error: s, level: "error", msg: "sync failed", time: "2024-03-01T09:12:44Z" }),
  "go-kit's logfmt": s => `ts=2024-03-01T09:12:44.113Z caller=sync.go:401 level=error component=sync err=${quoted(s)}`,
  "slog's text": s => `time=2024-03-01T09:12:44.113Z level=ERROR msg="sync failed" ns=shop err=${quoted(s)}`,
  hclog: s => `2024-03-01T09:12:44.113Z [ERROR] web.sync: sync failed: error=${quoted(s)}`,
  capnslog: s => `2024-03-01 09:12:44.113201 E | web: sync failed: ${s}`,
  "Go's log": s => `2024/03/01 09:12:44 sync failed: ${s}`,
  "zerolog on a terminal": s =>
    `\x1b[90m9:12AM\x1b[0m \x1b[31mERR\x1b[0m sync failed \x1b[36merror=\x1b[0m\x1b[31m${quoted(s)}\x1b[0m`,
  "istio's columns": s => `2024-03-01T09:12:44.113201Z\terror\tsync\tsync failed: ${s}`,
  logback: s =>
    `2024-03-01 09:12:44.113 ERROR 1 --- [worker-1] c.e.web.Sync                             : sync failed: ${s}`,
  log4j: s => `2024-03-01 09:12:44 ERROR Sync:401 - ${s}`,
  JBoss: s => `2024-03-01 09:12:44,113 ERROR [com.exa.web.Sync] (main) sync failed: ${s}`,
  "Python's logging": s => `2024-03-01 09:12:44,113 - web - ERROR - sync failed: ${s}`,
  kopf: s => `[2024-03-01 09:12:44,113] kopf.objects         [ERROR   ] [shop/web] Handler 'sync' failed: ${s}`,
  structlog: s => json({ event: "sync failed", level: "error", logger: "web", error: s }),
  tracing: s =>
    `\x1b[2m2024-03-01T09:12:44.113201Z\x1b[0m \x1b[31mERROR\x1b[0m \x1b[2mweb::sync\x1b[0m\x1b[2m:\x1b[0m sync failed: ${s}`,
  "tracing's JSON": s =>
    json({ timestamp: TIME, level: "ERROR", fields: { message: "sync failed", error: s }, target: "web::sync" }),
  ".NET's console": s => `fail: Web.Sync[0]\n      sync failed\n      ${s}`,
  "Serilog's JSON": s => json({ "@t": TIME, "@mt": "sync failed", "@l": "Error", "@x": s }),
  pino: s =>
    json({
      level: 50,
      time: 1709284364113,
      pid: 401,
      hostname: "web-1",
      err: { type: "Error", message: s },
      msg: "sync failed",
    }),
  ECS: s =>
    json({
      "@timestamp": TIME,
      "log.level": "error",
      message: `sync failed: ${s}`,
      "service.name": "web",
      "ecs.version": "1.6.0",
    }),
  journald: s => `Mar 01 09:12:44 worker-3 web[401]: sync failed: ${s}`,
  "a log in a log": s =>
    `time="2024-03-01T09:12:44Z" level=info msg=${quoted(`E0301 09:12:44.113201       1 sync.go:401] "Sync failed" err=${quoted(s)}`)} stream=stderr`,
  "JSON in JSON in JSON": s => json({ log: json({ message: json({ error: s }) }) }),
};

/** Puts something around each line. */
const eachLine =
  (wrap: (line: string) => string) =>
  (record: string): string =>
    record.split("\n").map(wrap).join("\n");

/** What a container runtime or kubectl puts around it. */
const ENVELOPES: Readonly<Record<string, (record: string) => string>> = {
  none: r => r,
  containerd: eachLine(line => `${TIME} stderr F ${line}`),
  "kubectl --timestamps": eachLine(line => `${TIME} ${line}`),
  both: eachLine(line => `${TIME} 2024-03-01T09:12:44.113201599+01:00 stdout F ${line}`),
  "Docker's json-file": eachLine(log => json({ log: `${log}\n`, stream: "stderr", time: TIME })),
  "carriage returns": eachLine(line => `${line}\r`),
  "a colour": r => `\x1b[1;31m${r}\x1b[0m`,
  "fluentd's JSON": r =>
    json({
      log: r,
      stream: "stderr",
      kubernetes: { pod_name: "vault-0", namespace_name: "registry", container_image: "registry.example/grafana:401" },
    }),
};

function wrapped(said: string): [string, string][] {
  return Object.entries(LOGGERS).flatMap(([logger, log]) =>
    Object.entries(ENVELOPES).map(([envelope, wrap]): [string, string] => [
      `${logger} in ${envelope}`,
      wrap(log(said)),
    ]),
  );
}

/** Every way of writing it down that changes the class. */
function changed(said: string, expected: LogClass): string[] {
  return wrapped(said)
    .filter(([, record]) => classify(record) !== expected)
    .map(([how, record]) => `${how}: ${classify(record)}: ${record}`);
}

describe("the log format does not change the class", () => {
  for (const [cls, sayings] of Object.entries(SAID)) {
    it.each(sayings)(`${cls}: %s`, said => {
      expect(changed(said, cls as LogClass)).toEqual([]);
    });
  }
  it.each(INNOCENT)("none: %s", said => {
    expect(changed(said, "none")).toEqual([]);
  });
});

describe("other fields and lines do not change the class", () => {
  const beside = [
    ' namespace="vault" name=registry attempt=3',
    " controller=grafana duration=401ms",
    " pod=git-0 host=worker-3",
  ];
  it.each(SAID.unauthorized)("key and value behind it: %s", said => {
    const record = `time="2024-03-01T09:12:44Z" level=error msg="sync failed" error=${quoted(said)}`;
    expect(beside.map(extra => classify(record + extra))).toEqual(beside.map(() => "unauthorized"));
  });
  it.each(SAID.unauthorized)("colours between its words: %s", said => {
    expect(classify(said.split(" ").join(" \x1b[0m\x1b[2m"))).toBe("unauthorized");
  });
});

describe("a quoted answer is not this process's own", () => {
  const relays: Readonly<Record<string, (said: string) => string>> = {
    "a webhook's denial": s => `admission webhook "guard.policy.example" denied the request: ${s}`,
    "a conversion webhook's answer": s =>
      `conversion webhook for example.com/v1, Kind=Widget failed: Post "https://conv.team.svc:443/convert?timeout=30s": ${s}`,
    "an aggregated API server's answer": s =>
      `v1.metrics.k8s.io: failing or missing response from https://10.96.1.2:443/apis/metrics.k8s.io/v1: ${s}`,
    "a refused caller": s =>
      `E0301 09:12:44.113201       1 authentication.go:73] "Unable to authenticate the request" err=${quoted(`[${s}]`)}`,
    "an access line with it": s =>
      `10.0.0.9 - - [01/Mar/2024:09:12:44 +0000] "GET /login HTTP/1.1" 401 17 "-" ${quoted(s)}`,
    "a network plugin's failure": s => `Failed to create pod sandbox: plugin type="calico" failed (add): ${s}`,
    "an exported Event": s =>
      json({ involvedObject: { kind: "Pod" }, reason: "Failed", message: s, source: { component: "kubelet" } }),
    "an audited request": s =>
      json({ kind: "Event", apiVersion: "audit.k8s.io/v1", auditID: "5b", responseStatus: { message: s, code: 401 } }),
  };
  for (const [relay, tell] of Object.entries(relays)) {
    it.each(SAID.unauthorized)(`${relay}: %s`, said => {
      expect(classify(tell(said))).toBe("none");
    });
  }
});
