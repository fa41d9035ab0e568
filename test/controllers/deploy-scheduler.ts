import { ClusterClient } from "../cluster/client";
import type { Lab } from "../lab";
import { schedulerImage } from "../lab/images";
import type { Progress } from "../lab/progress";
import { kubeScheduler } from "./kube-scheduler";

/** Namespace and name of the controller that docs/examples/first-object.yaml protects. */
const NAME = "my-scheduler";

/** Deploys a real kube-scheduler in a lab, as a controller to protect; it is ready when this returns. Returns the name of its image. */
export async function deployScheduler(lab: Lab, progress: Progress): Promise<string> {
  if (!lab.hasNode) throw new Error(`the lab "${lab.name}" has no node, so no pod can run in it`);
  const { tar, reference } = await schedulerImage(progress);
  await lab.loadImage(tar);
  const client = ClusterClient.of(lab);
  await client.createNamespace(NAME);
  await client.apply(kubeScheduler({ namespace: NAME, name: NAME, image: reference }));
  progress(`waiting for Deployment ${NAME} in namespace ${NAME}`);
  await client.readyPods(NAME, NAME);
  return reference;
}
