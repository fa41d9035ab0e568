import {
  countPods,
  createWorkload,
  describeObject,
  NAME,
  protect,
  says,
  type Scenario,
  type Scene,
  type State,
} from "../scenario";

const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const KINDS = ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"] as const;

interface Named {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

const isBounded = (state: State): boolean => says(state, "TokenLifetimeBounded", "Bounded");

/** The template of a DaemonSet, which has no pods here, is changed once. */
export const tokenTemplate: Scenario = {
  name: "token-template",
  about: "the tokens of a DaemonSet are bounded in its template",
  patienceMs: 120_000,

  async prepare(scene) {
    await createWorkload(scene, "DaemonSet");
  },

  async trigger(scene) {
    await protect(scene, "DaemonSet", { tokenLifetime: {} });
  },

  async describe(scene) {
    return { ...(await describeObject(scene)), generation: await generationOf(scene) };
  },

  isOver: isBounded,
};

/** Its pod is replaced by one with a short token, as the change of the template wants it. */
export const tokenRollout: Scenario = {
  ...tokenTemplate,
  name: "token-rollout",
  about: "the same where the DaemonSet has a pod, which is replaced by its controller",

  async prepare(scene) {
    await createWorkload(scene, "DaemonSet", 1);
  },

  async describe(scene) {
    return { ...(await tokenTemplate.describe(scene)), pods: await countPods(scene) };
  },
};

/** A policy and its binding are made for a DaemonSet, which has no pods to be replaced here. */
export const tokenAdmission: Scenario = {
  ...tokenTemplate,
  name: "token-admission",
  about: "the tokens of a DaemonSet are bounded at admission",

  async trigger(scene) {
    await protect(scene, "DaemonSet", { tokenLifetime: { via: "Admission" } });
  },

  async describe(scene) {
    const lists = await Promise.all(KINDS.map(kind => scene.admin.get<Named>(`${ADMISSION}/${kind}`)));
    const made = lists.map(({ items }) => items.filter(({ metadata }) => metadata.name.includes(scene.namespace)));
    const [policies, bindings] = made.map(items => items.length);
    return { ...(await describeObject(scene)), generation: await generationOf(scene), policies, bindings };
  },
};

async function generationOf({ admin, namespace }: Scene): Promise<number> {
  const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets/${NAME}`;
  return (await admin.get<{ metadata: { generation: number } }>(path)).metadata.generation;
}
