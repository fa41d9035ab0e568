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

const isBounded = (state: State): boolean => says(state, "TokenLifetimeBounded", "Bounded");

/** Changes the template of a DaemonSet without pods once. */
export const tokenTemplate: Scenario = {
  name: "token-template",
  about: "bound the tokens of a DaemonSet in its template",
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

/** The template change replaces the pod by one with a short token. */
export const tokenRollout: Scenario = {
  ...tokenTemplate,
  name: "token-rollout",
  about: "the same with a pod, which the DaemonSet controller replaces",

  async prepare(scene) {
    await createWorkload(scene, "DaemonSet", 1);
  },

  async describe(scene) {
    return { ...(await tokenTemplate.describe(scene)), pods: await countPods(scene) };
  },
};

async function generationOf({ admin, namespace }: Scene): Promise<number> {
  const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets/${NAME}`;
  return (await admin.get<{ metadata: { generation: number } }>(path)).metadata.generation;
}
