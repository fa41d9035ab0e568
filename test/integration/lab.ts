import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ClusterClient } from "../cluster/client";
import { Lab } from "../lab";
import { type Progress, silent } from "../lab/progress";

const CRDS = ["controllerresilience", "clustercontrollerresilience"];

/** Brings up a control plane with the project's CRDs. */
export async function bringUp(name: string, onProgress: Progress = silent): Promise<void> {
  const lab = await Lab.up({ name, controlPlaneOnly: true, onProgress });
  const client = ClusterClient.of(lab);
  for (const name of CRDS)
    await client.apply(readFileSync(join(import.meta.dirname, `../../crds/${name}.yaml`), "utf8"));
  await client.untilServed(CRDS.map(name => `crd/${name}s.controller-resilience.io`));
}
