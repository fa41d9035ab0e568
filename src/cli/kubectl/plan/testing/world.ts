import type { IncomingMessage } from "node:http";
import type { FakeAnswer } from "../../testing/run";

// A small cluster for the plugin's tests: one namespace `shop` with a Deployment whose ServiceAccount was recreated.

const MINUTE_MS = 60_000;

/** RFC 3339 time before now. */
export function ago(minutes: number): string {
  return new Date(Date.now() - minutes * MINUTE_MS).toISOString().replace(/\.\d+Z$/, "Z");
}

let serial = 0;

/** Metadata of an object in `shop`. */
export function meta(name: string, more: object = {}): object {
  serial++;
  return {
    name,
    namespace: "shop",
    uid: `uid-${name}-${serial}`,
    resourceVersion: "1",
    creationTimestamp: ago(60),
    ...more,
  };
}

const labels = { app: "web" };
const deployment = meta("web", { labels });
const replicaSet = meta("web-7d", { ownerReferences: [owner("Deployment", deployment)] });

function owner(kind: string, of: object): object {
  const { name, uid } = of as { name: string; uid: string };
  return { apiVersion: "apps/v1", kind, name, uid, controller: true };
}

const token = {
  name: "kube-api-access",
  projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 3607 } }] },
};
const container = {
  name: "main",
  image: "example.org/web:1",
  volumeMounts: [{ name: token.name, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }],
};

const running = (minutes: number): object => ({
  phase: "Running",
  conditions: [
    { type: "Ready", status: "True", lastTransitionTime: ago(minutes) },
    { type: "ContainersReady", status: "True", lastTransitionTime: ago(minutes) },
  ],
  containerStatuses: [{ name: "main", ready: true, restartCount: 0, state: { running: { startedAt: ago(minutes) } } }],
});

/** Collections by their path. */
export const COLLECTIONS: Readonly<Record<string, readonly object[]>> = {
  "/api/v1/namespaces": [{ metadata: { ...meta("shop"), namespace: undefined } }],
  "/api/v1/namespaces/shop/pods": [
    {
      metadata: meta("web-7d-1", {
        labels: { ...labels, "pod-template-hash": "7d" },
        creationTimestamp: ago(30),
        ownerReferences: [owner("ReplicaSet", replicaSet)],
      }),
      spec: { serviceAccountName: "web", nodeName: "n1", containers: [container], volumes: [token] },
      status: running(30),
    },
  ],
  "/api/v1/namespaces/shop/serviceaccounts": [
    {
      metadata: meta("web", {
        creationTimestamp: ago(5),
        annotations: { "helm.sh/hook": "pre-install,pre-upgrade" },
      }),
    },
  ],
  "/apis/apps/v1/namespaces/shop/deployments": [
    {
      metadata: deployment,
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { serviceAccountName: "web", containers: [container] } },
      },
      status: { replicas: 1, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 1 },
    },
  ],
  "/apis/apps/v1/namespaces/shop/replicasets": [{ metadata: replicaSet }],
  "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings": [
    {
      metadata: meta("web"),
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "web" },
      subjects: [{ kind: "ServiceAccount", name: "web", namespace: "shop" }],
    },
  ],
};

/** Answers as an API server with that cluster, on which the operator is not installed. */
export function answerFor(
  { url = "", method }: IncomingMessage,
  more: Readonly<Record<string, readonly object[]>> = {},
): FakeAnswer {
  if (method === "POST") return { code: 201, body: { status: { allowed: true } } };
  if (method !== "GET") return { code: 500, body: { kind: "Status", message: "a write" } };
  const [path = ""] = decodeURIComponent(url).split("?");
  return TEXTS.test(path) ? { text: "" } : read(path, { ...COLLECTIONS, ...more });
}

const TEXTS = /\/log$|^\/metrics$|^\/openid/;

function read(path: string, collections: Readonly<Record<string, readonly object[]>>): FakeAnswer {
  const found = collections[path] ?? everywhere(path, collections);
  if (found !== undefined) return { body: { metadata: { resourceVersion: "1" }, items: found } };
  const slash = path.lastIndexOf("/");
  const object = collections[path.slice(0, slash)]?.find(
    one => (one as { metadata: { name: string } }).metadata.name === path.slice(slash + 1),
  );
  return object === undefined ? notFound(path) : { body: object };
}

/** A list of all namespaces. */
function everywhere(
  path: string,
  collections: Readonly<Record<string, readonly object[]>>,
): readonly object[] | undefined {
  const slash = path.lastIndexOf("/");
  return collections[`${path.slice(0, slash)}/namespaces/shop${path.slice(slash)}`];
}

/** A collection of a kind that every cluster serves is empty; the rest does not exist. */
function notFound(path: string): FakeAnswer {
  const isCollection = /^\/(api\/v1|apis\/[^/]+\/v1)(\/namespaces\/[^/]+)?\/[a-z]+$/.test(path);
  if (isCollection) return { body: { metadata: { resourceVersion: "1" }, items: [] } };
  return { code: 404, body: { kind: "Status", code: 404, message: "not found" } };
}
