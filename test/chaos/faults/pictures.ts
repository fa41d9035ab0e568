import { SANDBOX_FAILED } from "../../../src/cluster/read/views";
import type { ControllerResilience } from "../../../src/api/controller-resilience";
import { EXPIRY } from "../../enforcers/rules";
import { eventually } from "../../cluster/admin";
import { NAME, readObject, type Scene } from "../scenario";
import { AGENT, CROWD, pathsOf, RECREATED } from "./churn";
import { missed, type Picture } from "./oracle";
import type { Replica } from "./world";

interface Named {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly generation: number;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

const REJECTED = "a sandbox was rejected";

/** Waits until an operator has acted on the current state; returns the missed changes. */
export async function untilActedOn(scene: Scene, { operator }: Replica, withinMs: number): Promise<string[]> {
  const look = async (): Promise<string[]> => {
    const { text } = await operator.probe("/metrics");
    return missed(await truthOf(scene), await actedOn(scene, text));
  };
  return eventually(look, found => found.length === 0, withinMs);
}

/** The objects of the scene's namespace on the API server. */
async function truthOf({ admin, namespace }: Scene): Promise<Picture> {
  const paths = pathsOf(namespace);
  const list = async (path: string): Promise<readonly Named[]> => (await admin.get<{ items: Named[] }>(path)).items;
  const [objects, pods, accounts, roleBindings, clusterRoleBindings, events] = await Promise.all(
    [paths.objects, paths.pods, paths.accounts, paths.roleBindings, paths.clusterRoleBindings, paths.events].map(list),
  );
  const own = clusterRoleBindings?.filter(({ metadata }) => metadata.name.startsWith(`${namespace}-`));
  return {
    controllerresiliences: (objects ?? []).map(({ metadata }) => generationLine(metadata.name, metadata.generation)),
    pods: [NAME, CROWD, AGENT].map(app => podsLine(app, pods?.filter(pod => isPodOf(pod, app)).length)),
    serviceaccounts: (accounts ?? []).filter(isRecreated).map(({ metadata }) => metadata.uid),
    rolebindings: expiries(roleBindings ?? []),
    clusterrolebindings: expiries(own ?? []),
    // The operator's own Events are listed, too.
    events: events?.some(event => (event as { reason?: string }).reason === SANDBOX_FAILED) ? [REJECTED] : [],
  };
}

/** The operator's view of the objects, taken from its status, restarts and metrics. */
async function actedOn(scene: Scene, metrics: string): Promise<Picture> {
  const { items } = await scene.admin.get<{ items: ControllerResilience[] }>(pathsOf(scene.namespace).objects);
  const status = (await readObject(scene))?.status ?? {};
  const targets = status.targets ?? [];
  const told = [...metrics.matchAll(/^controller_resilience_condition\{(.*)\} 1$/gm)].map(([, labels = ""]) => labels);
  const own = told.filter(labels => labels.includes(`namespace="${scene.namespace}"`));
  const names = new Set(own.map(labels => /(?:^|,)name="([^"]*)"/.exec(labels)?.[1] ?? ""));
  const bound = (kind: string): string[] =>
    (status.bindings ?? [])
      .filter(binding => binding.kind === kind && binding.state === "Current")
      .map(({ name, expiryTime }) => expiryLine(name, expiryTime));
  return {
    controllerresiliences: [...names].map(name => {
      const object = items.find(({ metadata }) => metadata.name === name);
      return generationLine(name, object?.status?.observedGeneration);
    }),
    pods: targets.map(({ name, pods }) => podsLine(name, pods)),
    serviceaccounts: (status.restarts ?? []).flatMap(({ serviceAccountUID }) => serviceAccountUID ?? []),
    rolebindings: bound("RoleBinding"),
    clusterrolebindings: bound("ClusterRoleBinding"),
    events: targets.some(({ name, lastUnauthorizedTime }) => name === AGENT && lastUnauthorizedTime) ? [REJECTED] : [],
  };
}

function isPodOf({ metadata }: Named, app: string): boolean {
  return metadata.deletionTimestamp === undefined && metadata.labels?.["app"] === app;
}

/** Whether the ServiceAccount was recreated: then its pod was stale, and must be replaced. */
function isRecreated({ metadata }: Named): boolean {
  return metadata.labels?.[RECREATED] !== undefined;
}

function expiries(bindings: readonly Named[]): string[] {
  return bindings.map(({ metadata }) => expiryLine(metadata.name, metadata.annotations?.[EXPIRY.ownExpiresAt]));
}

function expiryLine(name: string, time = ""): string {
  return `${name} until ${new Date(Date.parse(time) || 0).toISOString()}`;
}

function generationLine(name: string, generation: number | undefined): string {
  return `${name} at ${generation === undefined ? "no generation" : `generation ${generation}`}`;
}

function podsLine(app: string, pods: number | undefined): string {
  return `${app} with ${pods ?? 0} pods`;
}
