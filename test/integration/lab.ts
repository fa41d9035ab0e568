import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ClusterClient } from "../cluster/client";
import { Lab } from "../lab";
import { type Progress, silent } from "../lab/progress";

const CRD_FILE = join(import.meta.dirname, "../../crds/controllerresilience.yaml");
const CRD = "crd/controllerresiliences.controller-resilience.io";

/** Brings up a control plane with the project's CRD. */
export async function bringUp(name: string, onProgress: Progress = silent): Promise<void> {
  const lab = await Lab.up({ name, controlPlaneOnly: true, onProgress });
  try {
    await lab.apply(readFileSync(CRD_FILE, "utf8"));
    await ClusterClient.of(lab).untilServed([CRD]);
  } catch (error) {
    await lab.down();
    throw error;
  }
}
