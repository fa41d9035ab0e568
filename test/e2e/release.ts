import { RELEASE } from "../cluster/chart";
import type { ClusterClient, Pod } from "../cluster/client";
import { documentedCommands, follow } from "../cluster/documented";
import { install, OPERATOR } from "../cluster/installation";
import { leaseHolder, suiteLab } from "./operator";

/** Removes the suite's installation for operators outside the cluster: a cluster takes only one installation. */
export async function makeRoomForRelease(): Promise<void> {
  await follow(suiteLab(), documentedCommands("uninstall.md", "Uninstall"));
  const hostProcess = "-f crds/ -f deploy/host-process.yaml";
  const lines = documentedCommands("uninstall.md", "With kubectl").replace("-f deploy/install.yaml", hostProcess);
  await follow(suiteLab(), lines);
  await follow(suiteLab(), documentedCommands("uninstall.md", "Pepr's store"));
}

/** Uninstalls the release, if there is one, and restores the suite's installation. */
export async function endRelease(client: ClusterClient): Promise<void> {
  const { namespace } = OPERATOR;
  await suiteLab().helm(["uninstall", RELEASE, "--namespace", namespace, "--ignore-not-found", "--wait"]);
  await client.deleteNamespace(namespace);
  const phase = ["get", "namespace", namespace, "--ignore-not-found", "-o", "jsonpath={.status.phase}"];
  await client.until("the operator's namespace to be gone", async () => (await client.output(phase)) === "");
  await install(client);
}

/** Returns the two pods of the release once they are Ready. */
export function releasePods(client: ClusterClient): Promise<Pod[]> {
  return client.readyPods(OPERATOR.namespace, "controller-resilience", 2);
}

/** Returns the name of the pod that leads. */
export async function leadingPod(client: ClusterClient): Promise<string> {
  return (await leaseHolder(client)).replace(/_[^_]*$/, "");
}

/** Waits until one of the two pods leads; returns its name. */
export async function untilOneLeads(client: ClusterClient): Promise<string> {
  const names = (await releasePods(client)).map(({ metadata }) => metadata.name);
  return client.until("one of the pods to lead", async () => {
    const name = await leadingPod(client);
    return names.includes(name) && name;
  });
}

/** Upgrades the release with the documented commands, and waits for the new pods. */
export async function upgradeRelease(...args: string[]): Promise<void> {
  const lines = documentedCommands("install.md", "Upgrade");
  await follow(suiteLab(), lines.replace("--wait", [...args, "--wait"].join(" ")));
}
