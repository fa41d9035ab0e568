import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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
  const { namespace, name } = options;
  const group = "rbac.authorization.k8s.io";
  const plugin = pluginAccount(options);
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name: plugin } },
    {
      apiVersion: `${group}/v1`,
      kind: "Role",
      metadata: { namespace, name },
      rules: [{ apiGroups: [""], resources: ["serviceaccounts/token"], resourceNames: [plugin], verbs: ["create"] }],
    },
    {
      apiVersion: `${group}/v1`,
      kind: "RoleBinding",
      metadata: { namespace, name },
      roleRef: { apiGroup: group, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", namespace, name }],
    },
    daemonSet(options),
  ];
}

function daemonSet({ namespace, name, image }: CniAgentOptions): object {
  const labels = { "app.kubernetes.io/name": name };
  const env = { NAMESPACE: namespace, PLUGIN: pluginAccount({ name }), PORT: String(PORT) };
  const container = {
    name: "agent",
    image,
    imagePullPolicy: "IfNotPresent",
    command: ["node", "/app/cni-agent.js"],
    env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
    readinessProbe: { httpGet: { port: PORT }, periodSeconds: 1 },
    volumeMounts: [{ name: "host", mountPath: "/host" }],
  };
  const spec = {
    serviceAccountName: name,
    hostNetwork: true,
    terminationGracePeriodSeconds: 1,
    containers: [container],
    volumes: [{ name: "host", hostPath: { path: `/var/lib/${FOLDER}`, type: "DirectoryOrCreate" } }],
  };
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { namespace, name, labels },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
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
