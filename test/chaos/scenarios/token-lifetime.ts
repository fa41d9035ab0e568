import { countPods, createWorkload, describeObject, NAME, protect, says, type Scenario, type Scene } from "../scenario";

/** Begins the trial of a shorter token: changes the template of a DaemonSet, and evicts its pod. The trial lasts as long as the token. */
export const tokenTrial: Scenario = {
  name: "token-trial",
  // An eviction that was recorded but never sent is settled after 5 minutes (docs/adr/0004).
  patienceMs: 480_000,

  async prepare(scene) {
    await createWorkload(scene, "DaemonSet", 1);
  },

  async trigger(scene) {
    await protect(scene, "DaemonSet", { tokenLifetime: {} });
  },

  async describe(scene) {
    return { ...(await describeObject(scene)), generation: await generationOf(scene), pods: await countPods(scene) };
  },

  isOver(state) {
    const restarts = (state["restarts"] ?? []) as string[];
    return says(state, "TokenLifetimeBounded", "Rolling") && restarts.some(text => text.endsWith("Recovered"));
  },
};

async function generationOf({ admin, namespace }: Scene): Promise<number> {
  const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets/${NAME}`;
  return (await admin.get<{ metadata: { generation: number } }>(path)).metadata.generation;
}
