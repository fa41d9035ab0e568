import { ClusterClient } from "../cluster/client";
import { install } from "../cluster/installation";
import { Lab } from "../lab";
import { type Progress, silent } from "../lab/progress";

/** Brings up a lab with a node that has these images, and installs what an operator outside the cluster needs. */
export async function bringUp(
  name: string,
  imageTars: readonly string[],
  onProgress: Progress = silent,
): Promise<void> {
  const lab = await Lab.up({ name, onProgress });
  try {
    if (!lab.hasNode) throw new Error("the end-to-end tests need a real node, which needs Linux and root");
    await install(ClusterClient.of(lab));
    for (const tar of imageTars) await lab.loadImage(tar);
  } catch (error) {
    await lab.down();
    throw error;
  }
}
