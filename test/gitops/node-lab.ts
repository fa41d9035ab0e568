import { nodeControllerImage } from "../controllers/images";
import { operatorImage } from "../controllers/operator-image";
import { Lab } from "../lab";
import { built, type GoProgram } from "../lab/go-build";
import { ensurePackages, NODE_REQUIREMENTS } from "../lab/packages";

const print = (line: string): void => console.log(line);

/** Builds a tool's programs, and sets it up in a new lab with a node, which has the images of the operator and of small controllers. */
export async function nodeLab<T>(
  name: string,
  programs: readonly GoProgram[],
  setUp: (lab: Lab) => Promise<T>,
): Promise<T> {
  // The images need busybox, which is one of the packages.
  await ensurePackages(NODE_REQUIREMENTS, print);
  for (const program of programs) await built(program, name, print);
  const images = [await operatorImage(print), await nodeControllerImage()];
  const lab = await Lab.up({ name, onProgress: print });
  for (const { tar } of images) await lab.loadImage(tar);
  return setUp(lab);
}
