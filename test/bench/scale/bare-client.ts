// The least that a program on Node.js can do for ControllerResiliences without a target: the watches, reads and writes of the reference
// (reference/main.go) with node:https and JSON.parse, and nothing else: no queue, no cache, no checks, no Lease. Its processor time is the
// floor of any operator on Node.js. It runs as a process with a kubeconfig and the namespaces as arguments, until it is stopped.
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { parse } from "yaml";

const [kubeconfig = "", namespaces = ""] = process.argv.slice(2);
const GROUP = "/apis/controller-resilience.io/v1alpha1";
const EVENT_AFTER_MS = 30_000;
/** As many passes at once as in the operator. */
const WORKERS = 4;

interface Kubeconfig {
  readonly clusters: readonly [{ cluster: { server: string; "certificate-authority-data": string } }];
  readonly users: readonly [{ user: { token: string } }];
}

interface Found {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly generation: number };
  readonly spec: { readonly targets: readonly { readonly kind: string; readonly name: string }[] };
  status?: { readonly observedGeneration?: number; readonly conditions?: readonly object[] };
}

const { clusters, users } = parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig;
const { server, "certificate-authority-data": ca } = clusters[0].cluster;
const agent = new Agent({ keepAlive: true, ca: Buffer.from(ca, "base64") });
const authorization = `Bearer ${users[0].user.token}`;

function call(method: string, path: string, body?: object): Promise<unknown> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const length =
    text === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    const sent = request(`${server}${path}`, { method, agent, headers: { authorization, ...length } }, answer => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => resolve(JSON.parse(Buffer.concat(chunks).toString())));
    });
    sent.on("error", reject);
    sent.end(text);
  });
}

/** Lists, then watches; reports each added or modified object. */
async function watch(path: string, take: (object: Found) => void): Promise<void> {
  const list = (await call("GET", path)) as { metadata: { resourceVersion: string }; items: Found[] };
  list.items.forEach(take);
  const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${list.metadata.resourceVersion}`;
  request(`${server}${path}?${query}`, { agent, headers: { authorization } }, answer => {
    let rest = "";
    answer.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const { type, object } = JSON.parse(line) as { type: string; object: Found };
        if (type === "ADDED" || type === "MODIFIED") take(object);
      }
    });
  }).end();
}

const waiting: Found["metadata"][] = [];
let working = 0;

function pump(): void {
  while (working < WORKERS) {
    const next = waiting.shift();
    if (next === undefined) return;
    working++;
    void pass(next).finally(() => {
      working--;
      pump();
    });
  }
}

async function pass({ namespace, name }: Found["metadata"]): Promise<void> {
  const path = `${GROUP}/namespaces/${namespace}/controllerresiliences/${name}`;
  const object = (await call("GET", path)) as Found;
  if (object.status?.observedGeneration === object.metadata.generation) return;
  for (const target of object.spec.targets)
    await call("GET", `/apis/apps/v1/namespaces/${namespace}/deployments/${target.name}`);
  await call("GET", `/api/v1/namespaces/${namespace}`);
  const { generation } = object.metadata;
  const conditions = [
    ["TokensAccepted", "Unknown"],
    ["Ready", "False"],
    ["Reconciling", "False"],
    ["Stalled", "True"],
  ].map(([type, status]) => ({
    ...{ type, status, reason: "TargetNotFound", message: "not found.", observedGeneration: generation },
    lastTransitionTime: new Date().toISOString(),
  }));
  await call("PUT", `${path}/status`, { ...object, status: { observedGeneration: generation, conditions } });
  setTimeout(() => void record(object), EVENT_AFTER_MS);
}

function record({ metadata: { name, namespace } }: Found): Promise<unknown> {
  return call("POST", `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, {
    metadata: { generateName: `${name}-`, namespace },
    ...{ type: "Warning", reason: "TargetNotFound", action: "Reconcile", note: "not found." },
    ...{
      eventTime: new Date().toISOString().replace("Z", "000Z"),
      reportingController: "bare",
      reportingInstance: "bare",
    },
    regarding: { apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience", name, namespace },
  });
}

const KINDS = ["/api/v1|pods", "/api/v1|serviceaccounts", "/apis/apps/v1|deployments", "/apis/apps/v1|daemonsets"];
const ROLE_BINDINGS = "/apis/rbac.authorization.k8s.io/v1|rolebindings";

void watch(`${GROUP}/controllerresiliences`, object => {
  if (object.status?.observedGeneration === object.metadata.generation) return;
  waiting.push(object.metadata);
  pump();
});
for (const namespace of namespaces.split(","))
  for (const [group, plural] of [...KINDS, ROLE_BINDINGS].map(kind => kind.split("|")))
    void watch(`${group}/namespaces/${namespace}/${plural}`, () => undefined);
