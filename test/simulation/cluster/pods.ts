import { clone, type NewObj, type Obj, Refusal } from "../server/objects";
import { type Ground, ownedBy } from "./ground";

/** Where programs expect their token. */
export const TOKEN_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Seconds of the token that every pod gets; the API server lets it live for a year. */
export const DEFAULT_TOKEN_SECONDS = 3607;

/** A pod that a controller is about to create. */
export interface PodPlan {
  readonly owner: Obj;
  /** spec.template of its workload. */
  readonly template: Obj;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** A DaemonSet's pod. */
  readonly nodeName?: string;
}

/** Creates a pod as a controller does. @throws Refusal of admission */
export function createPod(ground: Ground, plan: PodPlan): Obj {
  const { owner, template, name, labels, nodeName } = plan;
  const { namespace = "" } = owner.metadata;
  const metadata = (
    template as { metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> } }
  ).metadata;
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace,
      ...(name === undefined ? { generateName: `${owner.metadata.name}-` } : { name }),
      labels: { ...metadata?.labels, ...labels },
      ...(metadata?.annotations === undefined ? {} : { annotations: { ...metadata.annotations } }),
      ownerReferences: [ownedBy(owner)],
    },
    spec: { ...(clone(template["spec"]) as PodSpec), ...(nodeName === undefined ? {} : { nodeName }) },
    status: { phase: "Pending" },
  } satisfies NewObj;
  admit(ground, pod);
  return ground.store.create("pods", pod);
}

interface PodSpec {
  serviceAccountName?: string;
  automountServiceAccountToken?: boolean;
  nodeName?: string;
  containers?: {
    name: string;
    image?: string;
    volumeMounts?: { name: string; mountPath: string; readOnly?: boolean }[];
  }[];
  volumes?: object[];
}

/** What admission does to a new pod. @throws Refusal */
export function admit(ground: Ground, pod: NewObj & { readonly spec: PodSpec }): void {
  const { namespace = "", name, generateName } = pod.metadata;
  const refuse = (why: string): Refusal =>
    new Refusal(403, "Forbidden", `pods "${name ?? generateName ?? ""}" is forbidden: ${why}`);
  const home = ground.store.get("namespaces", undefined, namespace);
  if (home === undefined) throw new Refusal(404, "NotFound", `namespaces "${namespace}" not found`);
  if (home.metadata.deletionTimestamp !== undefined)
    throw refuse(`unable to create new content in namespace ${namespace} because it is being terminated`);
  const account = (pod.spec.serviceAccountName ??= "default");
  const found = ground.store.get("serviceaccounts", namespace, account);
  if (found === undefined)
    throw refuse(`error looking up service account ${namespace}/${account}: serviceaccount "${account}" not found`);
  mountToken(ground, pod.spec, found);
  const exceeded = quotaOf(ground, namespace);
  if (exceeded !== undefined) throw refuse(exceeded);
  const denial = [...ground.podRefusals].map(rule => rule(pod)).find(why => why !== undefined);
  if (denial !== undefined) throw new Refusal(403, "Forbidden", denial);
}

function mountToken(ground: Ground, spec: PodSpec, account: Obj): void {
  const automount =
    spec.automountServiceAccountToken ?? (account["automountServiceAccountToken"] as boolean | undefined);
  if (automount === false) return;
  const without = (spec.containers ?? []).filter(
    ({ volumeMounts = [] }) => !volumeMounts.some(({ mountPath }) => mountPath === TOKEN_FOLDER),
  );
  if (without.length === 0) return;
  const name = `kube-api-access-${ground.store.suffix()}`;
  for (const container of without)
    (container.volumeMounts ??= []).push({ name, mountPath: TOKEN_FOLDER, readOnly: true });
  (spec.volumes ??= []).push({
    name,
    projected: {
      defaultMode: 420,
      sources: [
        { serviceAccountToken: { expirationSeconds: DEFAULT_TOKEN_SECONDS, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
    },
  });
}

/** Says which quota of pods is used up. */
function quotaOf({ store }: Ground, namespace: string): string | undefined {
  for (const quota of store.list("resourcequotas", namespace)) {
    const hard = (quota["spec"] as { hard?: Record<string, string> }).hard?.["pods"];
    const used = store.list("pods", namespace).length;
    if (hard !== undefined && used >= Number(hard))
      return `exceeded quota: ${quota.metadata.name}, requested: pods=1, used: pods=${used}, limited: pods=${hard}`;
  }
  return undefined;
}
