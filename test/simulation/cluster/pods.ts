import { clone, type NewObj, type Obj, Refusal, type Spec, type Template } from "../server/objects";
import { tell } from "./events";
import { type Agenda, type Ground, keyOfObject, ownedBy } from "./ground";

/** Where programs expect their token. */
export const TOKEN_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Seconds of the token that every pod gets; the API server lets it live for a year. */
export const DEFAULT_TOKEN_SECONDS = 3607;

/** A pod that a controller is about to create. */
export interface PodPlan {
  readonly owner: Obj;
  /** spec.template of its workload. */
  readonly template: Template;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** A DaemonSet's pod. */
  readonly nodeName?: string;
}

/** Retries after a refused pod, in milliseconds. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 120_000;

/** Creates pods for a controller, which looks again later at an owner whose pod is refused. */
export class PodMaker {
  /** By the key of the owner. */
  readonly #failures = new Map<string, number>();

  constructor(
    private readonly ground: Ground,
    private readonly agenda: Agenda,
  ) {}

  /** Returns whether it is created. */
  create(plan: PodPlan): boolean {
    const { owner } = plan;
    const key = keyOfObject(owner);
    try {
      createPod(this.ground, plan);
      this.#failures.delete(key);
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      this.agenda.add(key, Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures));
      const component = `${owner.kind.toLowerCase()}-controller`;
      const message = `Error creating: ${error.message}`;
      tell(this.ground, { object: owner, reason: "FailedCreate", message, component });
      return false;
    }
  }

  isRefused(owner: Obj): boolean {
    return this.#failures.has(keyOfObject(owner));
  }
}

/** Creates a pod as a controller does. @throws Refusal of admission */
function createPod(ground: Ground, plan: PodPlan): Obj {
  const { owner, template, name, labels, nodeName } = plan;
  const { namespace = "" } = owner.metadata;
  const { metadata, spec } = template;
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
    spec: { ...clone(spec), ...(nodeName === undefined ? {} : { nodeName }) },
    status: { phase: "Pending" },
  } satisfies NewObj;
  admit(ground, pod);
  return ground.store.create("pods", pod);
}

/** What admission does to a new pod, besides what the API servers do themselves. @throws Refusal */
function admit(ground: Ground, pod: NewObj & { readonly spec: Spec }): void {
  const { namespace = "", name, generateName } = pod.metadata;
  mountToken(
    ground,
    pod.spec,
    ground.store.get("serviceaccounts", namespace, pod.spec.serviceAccountName ?? "default"),
  );
  const exceeded = quotaOf(ground, namespace);
  if (exceeded !== undefined)
    throw new Refusal(403, "Forbidden", `pods "${name ?? generateName ?? ""}" is forbidden: ${exceeded}`);
  const denial = [...ground.podRefusals].map(rule => rule(pod)).find(why => why !== undefined);
  if (denial !== undefined) throw new Refusal(403, "Forbidden", denial);
}

function mountToken(ground: Ground, spec: Spec, account: Obj | undefined): void {
  if ((spec.automountServiceAccountToken ?? account?.["automountServiceAccountToken"]) === false) return;
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
        ...tokenSources(DEFAULT_TOKEN_SECONDS),
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
    },
  });
}

/** What a volume with a token is made of. */
export function tokenSources(expirationSeconds: number): object[] {
  return [
    { serviceAccountToken: { path: "token", expirationSeconds } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
  ];
}

/** Says which quota of pods is used up. */
function quotaOf({ store }: Ground, namespace: string): string | undefined {
  for (const quota of store.list("resourcequotas", namespace)) {
    const hard = quota.spec!.hard?.["pods"];
    const used = store.list("pods", namespace).length;
    if (hard !== undefined && used >= Number(hard))
      return `exceeded quota: ${quota.metadata.name}, requested: pods=1, used: pods=${used}, limited: pods=${hard}`;
  }
  return undefined;
}
