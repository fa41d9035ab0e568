import { built, CONTROL_PLANE, KUBERNETES_VERSION } from "../go-build";
import { silent, type Progress } from "../progress";
import { buildImage, type Image } from "./image";
import { busyboxEntries } from "./pause";

/** A real kube-scheduler as an image: a controller to protect, or to break. */
export async function schedulerImage(progress: Progress = silent): Promise<Image> {
  const copy = await built(CONTROL_PLANE, "", progress);
  return buildImage({
    reference: `lab.local/kube-scheduler:${KUBERNETES_VERSION}`,
    entries: [{ path: "usr/local/bin/kube-scheduler", copy }, ...(await busyboxEntries())],
    command: ["kube-scheduler"],
  });
}
