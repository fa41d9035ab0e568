// A stand-in for an API server with 10,000 pods in 1,000 namespaces, for watches.ts: lists, watches, and `POST /changes/N` changes N pods.
import { createServer } from "node:http";

const PODS = 10_000;
const NAMESPACES = 1_000;
const watches = new Map();
let version = PODS;

const field = name => [`f:${name}`, { ".": {}, "f:image": {}, "f:name": {}, "f:resources": {}, "f:volumeMounts": {} }];
const managedFields = ["kube-controller-manager", "kubelet"].map(manager => ({
  ...{ manager, operation: "Update", apiVersion: "v1", time: "2026-01-01T00:00:00Z", fieldsType: "FieldsV1" },
  fieldsV1: { "f:spec": Object.fromEntries(Array.from({ length: 12 }, (_, i) => field(`part-${i}`))) },
}));

function pod(i, resourceVersion) {
  const [name, namespace] = [`web-5d9c7b8f6-${String(i).padStart(5, "0")}`, `team-${i % NAMESPACES}`];
  const at = "2026-01-01T00:00:00Z";
  const env = Array.from({ length: 12 }, (_, n) => ({ name: `VARIABLE_${n}`, value: `a value of some length ${n}` }));
  const conditions = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
  return {
    metadata: {
      ...{
        name,
        namespace,
        uid: `0d5cf2e1-8d5c-4d5a-9c55-${String(i).padStart(12, "0")}`,
        resourceVersion: `${resourceVersion}`,
      },
      ...{ creationTimestamp: at, labels: { app: "web", "pod-template-hash": "5d9c7b8f6" }, managedFields },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d9c7b8f6", uid: `r-${namespace}`, controller: true },
      ],
    },
    spec: {
      ...{ serviceAccountName: "web", nodeName: `node-${i % 100}`, restartPolicy: "Always" },
      volumes: [
        {
          name: "token",
          projected: { sources: [{ serviceAccountToken: { expirationSeconds: 3607, path: "token" } }] },
        },
      ],
      containers: ["main", "proxy"].map(one => ({ name: one, image: `registry.example/team/${one}:v1`, env })),
    },
    status: {
      ...{ phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] },
      conditions: conditions.map(type => ({ type, status: "True", lastTransitionTime: at })),
      containerStatuses: ["main", "proxy"].map(one => ({
        name: one,
        restartCount: resourceVersion,
        ready: true,
        state: { running: { startedAt: at } },
      })),
    },
  };
}

function change(count) {
  for (let i = 0; i < count; i++) {
    const object = pod((i * 7) % PODS, ++version);
    const line = `${JSON.stringify({ type: "MODIFIED", object })}\n`;
    const watching = ["", object.metadata.namespace].flatMap(namespace => watches.get(namespace) ?? []);
    for (const watch of watching) watch.write(line);
  }
}

function open(namespace, response) {
  response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  watches.set(namespace, [...(watches.get(namespace) ?? []), response]);
}

function list(namespace, from, limit) {
  const own = [...Array(PODS).keys()].filter(i => namespace === "" || `team-${i % NAMESPACES}` === namespace);
  const next = from + limit < own.length ? `${from + limit}` : "";
  const items = own.slice(from, from + limit).map(i => pod(i, i));
  return { metadata: { resourceVersion: `${version}`, continue: next }, items };
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://here");
  const changes = /^\/changes\/(\d+)$/.exec(pathname)?.[1];
  const namespace = /\/namespaces\/([^/]+)\/pods$/.exec(pathname)?.[1] ?? "";
  if (changes !== undefined) change(Number(changes));
  else if (searchParams.get("watch") === "true") return open(namespace, response);
  const [from, limit] = [searchParams.get("continue"), searchParams.get("limit")].map(Number);
  response.end(JSON.stringify(changes === undefined ? list(namespace, from, limit) : {}));
});
server.listen(0, "127.0.0.1", () => process.send(server.address().port));
