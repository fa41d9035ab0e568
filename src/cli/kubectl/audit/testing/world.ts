import type { IncomingMessage } from "node:http";

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
  return { name, namespace: "shop", uid: `uid-of-${name}`, creationTimestamp: ago(86_400), ...more };
}

/** A running pod with a token. */
export function pod(name: string, serviceAccountName: string, more: { created?: number; owner?: object } = {}): object {
  return {
    metadata: meta(name, {
      creationTimestamp: ago(more.created ?? 7200),
      ...(more.owner && { ownerReferences: [more.owner] }),
    }),
    spec: {
      serviceAccountName,
      containers: [{ name: "main" }],
      volumes: [
        { name: "t", projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 3607 } }] } },
      ],
    },
    status: {
      phase: "Running",
      containerStatuses: [{ name: "main", state: { running: { startedAt: ago((more.created ?? 7200) - 2) } } }],
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
        spec: { serviceAccountName: name, containers: [{ name: "main" }], ...podSpec },
      },
      ...spec,
    },
    status: { desiredNumberScheduled: 1 },
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

/** Answers lists from the world, logs from `logs`, and 403 for plurals that are refused. */
export function answerOf(world: World, logs: Readonly<Record<string, string>> = {}, refused: readonly string[] = []) {
  return ({ url = "" }: IncomingMessage): { code?: number; body: unknown; text?: string } => {
    const { pathname } = new URL(url, "http://localhost");
    const log = /\/pods\/([^/]+)\/log$/.exec(pathname)?.[1];
    if (log !== undefined) return { body: undefined, text: logs[log] ?? "" };
    const plural = pathname.split("/").at(-1) ?? "";
    if (refused.includes(plural))
      return { code: 403, body: { kind: "Status", message: `${plural} is forbidden: User "ann" cannot list them` } };
    // Without counters nothing is waited for.
    if (plural === "metrics") return { body: undefined, text: "no counters\n" };
    if (plural === "controller-resilience.io") return { code: 404, body: { kind: "Status" } };
    return { body: { items: world[plural] ?? [], metadata: { resourceVersion: "1" } } };
  };
}
