import { join } from "node:path";
import { bundle, nodeImage, pythonImage, type Image } from "../lab/images";

const programs = join(__dirname, "programs");

/**
 * The controller on @kubernetes/client-node, `node /app/controller.js`; beside it the agent of a network plugin (`cni-agent.js`), and
 * programs that keep and use a token (`token-keeper.js`, `token-request.js`), and a controller without backoff (`reckless-controller.js`).
 */
export async function nodeControllerImage(): Promise<Image> {
  return nodeImage({
    reference: "lab.local/node-controller:1",
    entries: [
      { path: "app/controller.js", content: await bundle(join(programs, "node-controller.ts")) },
      { path: "app/cni-agent.js", content: await bundle(join(programs, "cni-agent.ts")) },
      { path: "app/token-keeper.js", content: await bundle(join(programs, "token-keeper.ts")) },
      { path: "app/reckless-controller.js", content: await bundle(join(programs, "reckless-controller.ts")) },
      { path: "app/token-request.js", content: await bundle(join(programs, "token-request.ts")) },
    ],
    args: ["/app/controller.js"],
  });
}

/** The controller on Python's kubernetes client, `python3 /app/controller.py`, and `innocents.py` beside it. */
export async function pythonControllerImage(): Promise<Image> {
  return pythonImage({
    reference: "lab.local/python-controller:1",
    entries: [
      { path: "app/controller.py", copy: join(programs, "python_controller.py") },
      { path: "app/innocents.py", copy: join(programs, "innocents.py") },
    ],
    command: ["python3", "/app/controller.py"],
  });
}
