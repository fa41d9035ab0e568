import { silent, type Progress } from "../progress";
import { built, type GoProgram } from "../go-build";
import { buildImage, type Image } from "./image";
import { busyboxEntries } from "./pause";

/** Builds an image with one Go program, which is built if necessary, and a shell. */
export async function goImage(program: GoProgram, progress: Progress = silent): Promise<Image> {
  const copy = await built(program, "", progress);
  return buildImage({
    reference: `lab.local/${program.name}:${program.version}`,
    entries: [{ path: `usr/local/bin/${program.name}`, copy }, ...(await busyboxEntries())],
    command: [program.name],
  });
}
