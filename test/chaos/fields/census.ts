import type { JsonObject } from "../../../src/core/json";
import { FLOW_PREFIX, OWNER_ANNOTATION } from "../../../src/api/names";
import type { ControllerResilience } from "../../../src/api/controller-resilience";
import type { Admin } from "../../cluster/admin";
import { NAME } from "../scenario";
import { content, plain, type Raw } from "./plain";

/** Namespaced resources that the operator writes, except objects of its own kind. */
const NAMESPACED = {
  deployments: "apps/v1",
  statefulsets: "apps/v1",
  daemonsets: "apps/v1",
  rolebindings: "rbac.authorization.k8s.io/v1",
} as const;

/** Cluster-scoped resources that the operator writes. */
const CLUSTER_SCOPED = {
  clusterrolebindings: "rbac.authorization.k8s.io/v1",
  flowschemas: "flowcontrol.apiserver.k8s.io/v1",
  prioritylevelconfigurations: "flowcontrol.apiserver.k8s.io/v1",
} as const;

/** Resources that a census includes. Writes to other resources are reported, since no census compares them. */
export const SEEN: readonly string[] = [
  ...Object.keys(NAMESPACED),
  ...Object.keys(CLUSTER_SCOPED),
  "controllerresiliences",
  "controllerresiliences/status",
];

/** The state of one namespace. */
export interface Plot {
  readonly object: ControllerResilience;
  /** Its ControllerResilience, without the parts that differ between objects with the same spec. */
  readonly told: JsonObject;
  /** All other objects that the operator may have created or changed for it. By kind and name. */
  readonly made: JsonObject;
}

/** All objects that the operator writes, at one moment. */
export interface Census {
  /** By namespace, for namespaces with a ControllerResilience. */
  readonly plots: ReadonlyMap<string, Plot>;
  /** Names of all cluster-scoped objects that the operator created, for any owner. */
  readonly made: readonly string[];
}

export async function takeCensus(admin: Admin): Promise<Census> {
  const objects = await list<ControllerResilience>(admin, "controllerresiliences", "controller-resilience.io/v1alpha1");
  const inside = await listAll(admin, NAMESPACED);
  const outside = await listAll(admin, CLUSTER_SCOPED);
  const pods = await list<Raw>(admin, "pods", "v1");
  const by = groups([...inside.map(([id, raw]) => [raw.metadata.namespace, id, raw] as const), ...outside.map(placed)]);
  const plots = objects.map((object): [string, Plot] => {
    const { namespace } = object.metadata;
    const alive = pods.filter(({ metadata }) => metadata.namespace === namespace);
    const made = (by.get(namespace) ?? []).map(
      ([id, raw]) => [plain(id, namespace) as string, content(raw, namespace)] as const,
    );
    const all = Object.fromEntries(made) as JsonObject;
    return [namespace, { object, told: tell(object), made: { ...all, pods: alive.length } }];
  });
  return { plots: new Map(plots), made: outside.filter(isMade).map(([id]) => id) };
}

function tell({ metadata, spec, status = {} }: ControllerResilience): JsonObject {
  const { namespace, finalizers = [] } = metadata;
  return plain({ spec, finalizers, status }, namespace) as JsonObject;
}

type Named = readonly [id: string, raw: Raw];

async function listAll(admin: Admin, kinds: Readonly<Record<string, string>>): Promise<Named[]> {
  const lists = Object.entries(kinds).map(async ([plural, version]): Promise<Named[]> => {
    const raws = await list<Raw>(admin, plural, version);
    return raws.map(raw => [`${plural}/${raw.metadata.name}`, raw]);
  });
  return (await Promise.all(lists)).flat();
}

async function list<T>(admin: Admin, plural: string, version: string): Promise<T[]> {
  const path = `/${version === "v1" ? "api" : "apis"}/${version}/${plural}`;
  return (await admin.get<{ items: T[] }>(path)).items;
}

/** The namespace of the owner. A ClusterRoleBinding has the name of that namespace. */
function placed([id, raw]: Named): readonly [string | undefined, string, Raw] {
  const owner = raw.metadata.annotations?.[OWNER_ANNOTATION];
  return [owner?.replace(new RegExp(`/${NAME}$`), "") ?? raw.metadata.name, id, raw];
}

/** FlowSchemas of the operator's own requests, which its installer created, have another owner and no hash. */
function isMade([id, { metadata }]: Named): boolean {
  const isCommon = [`${FLOW_PREFIX}shared`, `${FLOW_PREFIX}leases`, `${FLOW_PREFIX}tar-pit`].includes(metadata.name);
  return isCommon || metadata.annotations?.[OWNER_ANNOTATION] !== undefined || id.includes("mutating");
}

function groups(items: readonly (readonly [string | undefined, string, Raw])[]): Map<string, Named[]> {
  const by = new Map<string, Named[]>();
  for (const [namespace, id, raw] of items) {
    if (namespace === undefined) continue;
    const group = by.get(namespace) ?? [];
    group.push([id, raw]);
    by.set(namespace, group);
  }
  return by;
}
