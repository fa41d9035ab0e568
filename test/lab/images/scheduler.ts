import { built } from "../go-build";
import { controlPlane } from "../kubernetes";
import { silent, type Progress } from "../progress";
import { buildImage, type Image } from "./image";
import { busyboxEntries } from "./pause";

/** A real kube-scheduler as an image: a controller to protect, or to break. It is a kube-controller-manager, too, if called so. */
export async function schedulerImage(progress: Progress = silent): Promise<Image> {
  const program = controlPlane();
  const copy = await built(program, "", progress);
  return buildImage({
    reference: `lab.local/kube-scheduler:${program.version}`,
    entries: [
      { path: "usr/local/bin/kube-scheduler", copy },
      { path: "usr/local/bin/kube-controller-manager", link: "kube-scheduler" },
      ...(await busyboxEntries()),
    ],
    command: ["kube-scheduler"],
  });
}
