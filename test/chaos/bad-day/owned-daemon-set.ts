import { protect, until } from "../scenario";
import { makePasses } from "./passes";
import type { Story } from "./story";
import { messageOf, objectsOf, reasonOf } from "./workloads";

const NAME = "owned";
const OWNER = "operator-config";

/** Passes after the finding. */
const PASSES = 3;

/** Another operator owns a DaemonSet, and would revert a change of its template. */
export const ownedDaemonSet: Story = {
  name: "owned-daemon-set",
  async tell({ rig }) {
    const scene = await rig.scene("owned-daemon-set");
    const { admin, namespace } = scene;
    const core = `/api/v1/namespaces/${namespace}`;
    await admin.create(`${core}/serviceaccounts`, { metadata: { name: NAME } });
    const made = await admin.create<{ metadata: { uid: string } }>(`${core}/configmaps`, { metadata: { name: OWNER } });
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: OWNER, uid: made.metadata.uid, controller: true };
    const labels = { app: NAME };
    const template = {
      metadata: { labels },
      spec: {
        serviceAccountName: NAME,
        nodeSelector: { "chaos.test/none": "true" },
        containers: [{ name: "main", image: "none" }],
      },
    };
    const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets`;
    await admin.create(path, {
      metadata: { name: NAME, ownerReferences: [owner] },
      spec: { selector: { matchLabels: labels }, template },
    });
    await protect(scene, "DaemonSet", { tokenLifetime: {} }, NAME);
    const said = async (): Promise<readonly [string, string]> => {
      const [object] = await objectsOf(scene, [NAME]);
      return object === undefined
        ? ["", ""]
        : [reasonOf(object, "TokenLifetimeBounded"), messageOf(object, "TokenLifetimeBounded")];
    };
    await until("a finding", async () => (await said())[0] !== "");
    await makePasses(scene, PASSES, NAME);
    const { metadata } = await admin.get<{ metadata: { generation: number } }>(`${path}/${NAME}`);
    const [reason, message] = await said();
    return {
      fault: "another operator owns a DaemonSet whose tokens are to be bounded",
      times: 1,
      promised: "its template is left alone; Unsupported, and the message names the owner",
      seen: `${metadata.generation - 1} changes; ${reason}: ${message}`,
      failures: [
        ...(metadata.generation > 1 ? [`the template was changed ${metadata.generation - 1} times`] : []),
        ...(reason === "Unsupported" ? [] : [`the reason is ${reason}`]),
        ...(message.includes(OWNER) ? [] : [`the message does not name the owner: ${message}`]),
      ],
    };
  },
};
