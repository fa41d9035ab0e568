import {
  createWorkload,
  describeObject,
  objectPath,
  protect,
  says,
  type Scenario,
  type Scene,
  type State,
  until,
} from "../scenario";

const FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1";

interface Named {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

const isIsolated = (state: State): boolean => says(state, "FlowsIsolated", "Isolated");

/** Gives a controller its own flows, on the shared level. */
export const flowIsolation: Scenario = {
  name: "flow-isolation",
  patienceMs: 180_000,

  async prepare(scene) {
    await createWorkload(scene, "Deployment");
  },

  async trigger(scene) {
    await protect(scene, "Deployment", { flowIsolation: {} });
  },

  async describe(scene) {
    return { ...(await describeObject(scene)), made: await made(scene) };
  },

  isOver: isIsolated,
};

/** Deletes everything that was created for an object when the object is deleted. */
export const flowCleanup: Scenario = {
  ...flowIsolation,
  name: "flow-cleanup",

  async prepare(scene) {
    await flowIsolation.prepare(scene);
    await flowIsolation.trigger(scene);
    await until("isolated flows", async () => isIsolated(await describeObject(scene)));
  },

  async trigger(scene) {
    await scene.admin.delete(objectPath(scene));
  },

  isOver: state => state["object"] === "gone",
};

/** Without the FlowSchemas of the operator's own requests, which its installer created. */
async function made({ admin, namespace }: Scene): Promise<string[]> {
  const kinds = ["flowschemas", "prioritylevelconfigurations"];
  const lists = await Promise.all(kinds.map(kind => admin.get<Named>(`${FLOWS}/${kind}`)));
  const names = lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
  const own = names.filter(name => /^controller-resilience-(shared$|tar-pit$|.*-web-)/.test(name));
  return own.map(name => name.replace(namespace, "NAMESPACE").replace(/-[0-9a-f]+$/, "-HASH")).toSorted();
}
