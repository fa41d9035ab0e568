import type { IncomingMessage } from "node:http";
import type { FakeAnswer } from "../../../cluster/testing/fake-server";

/** A cluster as lists of raw objects, by plural. */
export type World = Record<string, object[]>;

/** The API server's time in these tests. */
export const NOW = new Date(1000 * Math.floor(Date.now() / 1000));

/** Returns a time so many seconds ago. */
export function ago(seconds: number): string {
  return new Date(NOW.getTime() - 1000 * seconds).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Returns metadata of an object. */
export function meta(name: string, more: object = {}): object {
  return {
    name,
    namespace: "shop",
    uid: `uid-of-${name}`,
    resourceVersion: "1",
    creationTimestamp: ago(86_400),
    ...more,
  };
}

const CONTAINER = {
  name: "main",
  volumeMounts: [{ name: "t", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }],
};

/** A running pod with a token. */
export function pod(
  name: string,
  serviceAccountName: string,
  { created = 7200, ...more }: { created?: number; ownerReferences?: readonly object[]; labels?: object } = {},
): object {
  const startedAt = ago(created - 2);
  const ownerReferences = [{ kind: "ReplicaSet", name: serviceAccountName, uid: "rs", controller: true }];
  return {
    metadata: meta(name, { creationTimestamp: ago(created), ownerReferences, ...more }),
    spec: {
      serviceAccountName,
      nodeName: "n1",
      containers: [CONTAINER],
      volumes: [
        { name: "t", projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 3607 } }] } },
      ],
    },
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: startedAt }],
      containerStatuses: [{ name: "main", ready: true, restartCount: 0, state: { running: { startedAt } } }],
    },
  };
}

/** A workload of which the ServiceAccount has the same name. */
export function workload(name: string, spec: object = {}, podSpec: object = {}): object {
  const labels = { app: name };
  return {
    metadata: meta(name),
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { serviceAccountName: name, containers: [CONTAINER], ...podSpec },
      },
      ...spec,
    },
    status: { desiredNumberScheduled: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 1 },
  };
}

/** A RoleBinding for that ServiceAccount. */
export function binding(account: string, metadata: object = {}): object {
  return {
    metadata: meta(`uses-${account}`, metadata),
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
    subjects: [{ kind: "ServiceAccount", namespace: "shop", name: account }],
  };
}

/**
 * Answers reads from the world, logs from `logs`, 403 for plurals that are refused, and reviews with yes. The operator is not installed, unless
 * the world has objects of it.
 */
export function answerOf(world: World, logs: Readonly<Record<string, string>> = {}, refused: readonly string[] = []) {
  return ({ url = "", method }: IncomingMessage): FakeAnswer => {
    if (method === "POST") return { code: 201, body: { status: { allowed: true } } };
    const { pathname } = new URL(url, "http://localhost");
    // Without counters nothing is waited for.
    if (/^\/(metrics|openid)/.test(pathname)) return { text: "no counters\n" };
    const [, log] = /\/pods\/([^/]+)\/log$/.exec(pathname) ?? [];
    return log === undefined ? objectsAt(pathname, world, refused) : { text: logs[log] ?? "" };
  };
}

/** Version, plural and name. */
const PATH = /\/(v\d[^/]*)\/(?:namespaces\/[^/]+\/)?([a-z]+)(?:\/([^/]+))?$/;

/** Answers with a list, or with the object of a name. */
function objectsAt(pathname: string, world: World, refused: readonly string[]): FakeAnswer {
  const [, version, plural = "", name] = PATH.exec(pathname) ?? [];
  if (refused.includes(plural))
    return { code: 403, body: { kind: "Status", message: `${plural} is forbidden: User "ann" cannot list them` } };
  const items = world[plural] ?? (version === "v1" ? [] : undefined);
  const body = name === undefined ? items && { items, metadata: { resourceVersion: "1" } } : items?.find(isNamed(name));
  return body === undefined ? { code: 404, body: { kind: "Status", code: 404, message: "not found" } } : { body };
}

function isNamed(name: string): (item: object) => boolean {
  return item => (item as { metadata: { name: string } }).metadata.name === name;
}
