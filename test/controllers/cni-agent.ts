import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rightsOf, serviceAccount, workload } from "../cluster/objects";
import type { Lab } from "../lab";
import { bundle } from "../lab/images";

// A network plugin to break, and its agent, which writes the plugin's credential to the node. The credential belongs to another ServiceAccount than
// the agent's, as with Calico: when that ServiceAccount is recreated, the agent stays Ready and logs nothing, but no pod can start.

/** The folder on the node that agent and plugin share, below /var/lib. */
const FOLDER = "lab-cni";

/** Port of the agent's readiness probe, in the node's network. */
const PORT = 9099;

/** Where and with which image the agent runs. */
export interface CniAgentOptions {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
}

/** The ServiceAccount whose token the plugin uses. Recreate it to make the credential invalid. */
export function pluginAccount({ name }: Pick<CniAgentOptions, "name">): string {
  return `${name}-plugin`;
}

/** All objects of the agent except its namespace. */
export function cniAgent(options: CniAgentOptions): object[] {
  const { namespace, name, image } = options;
  const account = { namespace, name };
  const plugin = pluginAccount(options);
  const tokens = { apiGroups: [""], resources: ["serviceaccounts/token"], resourceNames: [plugin], verbs: ["create"] };
  const env = { NAMESPACE: namespace, PLUGIN: plugin, PORT: String(PORT) };
  const container = {
    name: "agent",
    image,
    imagePullPolicy: "IfNotPresent",
    command: ["node", "/app/cni-agent.js"],
    env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
    readinessProbe: { httpGet: { port: PORT }, periodSeconds: 1 },
    volumeMounts: [{ name: "host", mountPath: "/host" }],
  };
  const volumes = [{ name: "host", hostPath: { path: `/var/lib/${FOLDER}`, type: "DirectoryOrCreate" } }];
  return [
    ...[account, { namespace, name: plugin }].map(serviceAccount),
    ...rightsOf(account, account, tokens),
    workload("DaemonSet", account, { hostNetwork: true, containers: [container], volumes }),
  ];
}

/** Makes every new pod on the lab's node depend on the agent's credential. */
export async function chainPlugin(lab: Lab): Promise<void> {
  const program = await bundle(join(__dirname, "programs", "cni-plugin.ts"));
  lab.chainCniPlugin({ name: "lab-credential", program: `#!${process.execPath}\n${program}` });
}

/** Removes the plugin from the lab's node, and the files of its agent. */
export function unchainPlugin(lab: Lab): void {
  lab.chainCniPlugin();
  rmSync(lab.nodeFolder(FOLDER), { recursive: true, force: true });
}

/** Makes the plugin fail with another message, or succeed again. */
export function failOtherwise(lab: Lab, message?: string): void {
  const path = join(lab.nodeFolder(FOLDER), "failure");
  if (message === undefined) rmSync(path, { force: true });
  else writeFileSync(path, message);
}
