import { askedMinor } from "../kubernetes";
import { findPrograms } from "../programs";
import { silent, type Progress } from "../progress";
import { buildImage, type Image } from "./image";
import { busyboxEntries } from "./pause";

/** A real kube-scheduler as an image: a controller to protect, or to break. With a kube-controller-manager, too. */
export async function schedulerImage(progress: Progress = silent): Promise<Image> {
  const { version, paths } = await findPrograms({ kind: "node", id: "", kubernetes: askedMinor() }, progress);
  const { "kube-scheduler": scheduler, "kube-controller-manager": manager } = paths;
  if (scheduler === undefined || manager === undefined)
    throw new Error(
      "KUBEBUILDER_ASSETS has no kube-scheduler or kube-controller-manager, and without Go none can be built",
    );
  const path = "usr/local/bin/kube-controller-manager";
  return buildImage({
    reference: `lab.local/kube-scheduler:${version}`,
    entries: [
      { path: "usr/local/bin/kube-scheduler", copy: scheduler },
      // A build has all programs in one file.
      manager === scheduler ? { path, link: "kube-scheduler" } : { path, copy: manager },
      ...(await busyboxEntries()),
    ],
    command: ["kube-scheduler"],
  });
}
