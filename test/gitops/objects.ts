import type { ClusterClient } from "../cluster/client";
import { IN_NODE } from "../controllers/images";
import { smallController } from "../controllers/small-controller";
import { tokenAgent } from "../controllers/token-agent";

const API = "controller-resilience.io/v1alpha1";
const EXPIRY = "controller-resilience.io/expires-at";

/** A ControllerResilience named `web`, unless it has another name. */
export function resilience(namespace: string, spec: object, name = "web"): object {
  return { apiVersion: API, kind: "ControllerResilience", metadata: { namespace, name }, spec };
}

/** A ClusterControllerResilience. */
export function clusterResilience(name: string, spec: object): object {
  return { apiVersion: API, kind: "ClusterControllerResilience", metadata: { name }, spec };
}

/** The Deployment `web`, and what targets it. */
export const controller = (namespace: string): object[] => smallController({ namespace, name: "web", ...IN_NODE });
export const targets = [{ kind: "Deployment", name: "web" }];

/** The same for a DaemonSet whose token has a volume in Git. */
export const agent = (namespace: string): object[] =>
  tokenAgent({ namespace, name: "web", ...IN_NODE, explicitSeconds: 3600 });
export const ofAgent = [{ kind: "DaemonSet", name: "web" }];

/** A workload with another pod template; other objects as they are. */
export function annotated(object: object): object {
  const copy = structuredClone(object) as { kind: string; spec: { template: { metadata: object } } };
  if (["DaemonSet", "Deployment"].includes(copy.kind))
    Object.assign(copy.spec.template.metadata, { annotations: { changed: "once" } });
  return copy;
}

/** An object that Argo CD applies with these options. */
export function replaced(object: object, syncOptions: string): object {
  const copy = structuredClone(object) as { metadata: object };
  Object.assign(copy.metadata, { annotations: { "argocd.argoproj.io/sync-options": syncOptions } });
  return copy;
}

/** A RoleBinding that expires; other objects as they are. */
export function expiring(object: object, due: string): object {
  const copy = structuredClone(object) as { kind: string; metadata: object };
  if (copy.kind === "RoleBinding") Object.assign(copy.metadata, { annotations: { [EXPIRY]: due } });
  return copy;
}

/** When the RoleBinding `web` expires, in milliseconds. */
export async function expiryOf(client: ClusterClient, namespace: string): Promise<number> {
  const { metadata } = (await client.binding("RoleBinding", "web", namespace))!;
  return Date.parse(metadata.annotations?.[EXPIRY] ?? "");
}

/** The seconds that the first volume of the DaemonSet `web` asks for. */
export async function secondsOf(client: ClusterClient, namespace: string): Promise<number> {
  const path = "{.spec.template.spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds}";
  return Number(await client.output(["get", "daemonset", "web", "-n", namespace, "-o", `jsonpath=${path}`]));
}

/** The generation of the DaemonSet `web`, which rises with each change of its spec. */
export async function generationOf(client: ClusterClient, namespace: string): Promise<number> {
  return (await client.daemonSet(namespace, "web")).metadata.generation;
}

/** When a field manager last changed each workload and ControllerResilience of a namespace, without status. */
export async function applyTimesOf(
  client: ClusterClient,
  namespace: string,
  manager: string,
): Promise<Readonly<Record<string, string | undefined>>> {
  const kinds = "deployments,daemonsets,cres";
  const text = await client.output(["get", kinds, "-n", namespace, "-o", "json", "--show-managed-fields"]);
  const { items } = JSON.parse(text) as {
    readonly items: readonly {
      readonly kind: string;
      readonly metadata: {
        readonly name: string;
        readonly managedFields: readonly {
          readonly manager: string;
          readonly subresource?: string;
          readonly time: string;
        }[];
      };
    }[];
  };
  return Object.fromEntries(
    items.map(({ kind, metadata: { name, managedFields } }) => [
      `${kind} ${name}`,
      managedFields.find(one => one.manager === manager && one.subresource === undefined)?.time,
    ]),
  );
}

/** The FlowSchemas that the operator has made for a namespace. */
export async function flowSchemas(client: ClusterClient, namespace: string): Promise<string[]> {
  const names = (await client.output(["get", "flowschemas", "-o", "name"])).split("\n");
  return names.filter(name => name.includes(`-${namespace}-`));
}

/** Waits until a namespace has no ControllerResilience. */
export async function untilNoResilience(client: ClusterClient, namespace: string): Promise<void> {
  await client.until(`namespace ${namespace} to have no ControllerResilience`, async () => {
    return (await client.output(["get", "cres", "-n", namespace, "-o", "name"])) === "";
  });
}
