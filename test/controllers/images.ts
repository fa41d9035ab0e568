import { join } from "node:path";
import type { GoProgram } from "../lab/go-build";
import { bundle, goImage, javaCommand, javaImage, nodeImage, pythonImage, type Image } from "../lab/images";

const programs = join(__dirname, "programs");

const NODE_CONTROLLER = "lab.local/node-controller:1";

/** How a workload runs the controller of {@link nodeControllerImage}. */
export const IN_NODE = { image: NODE_CONTROLLER, command: ["node", "/app/controller.js"] };

/**
 * The controller on @kubernetes/client-node, `node /app/controller.js`; beside it the agent of a network plugin (`cni-agent.js`), and
 * programs that keep and use a token (`token-keeper.js`, `token-request.js`), and a controller without backoff (`reckless-controller.js`).
 */
export async function nodeControllerImage(): Promise<Image> {
  return nodeImage({
    reference: NODE_CONTROLLER,
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

/** A controller on controller-runtime, as `controller-runtime-manager`. */
const MANAGER: GoProgram = {
  name: "controller-runtime-manager",
  version: "v0.24.1",
  sources: join(programs, "manager"),
  package: ".",
  ldflags: "-s -w",
};

/** The descheduler, as it is released but for the version of the k8s.io modules. */
export const DESCHEDULER: GoProgram = {
  name: "descheduler",
  version: "v0.36.0",
  sources: join(programs, "descheduler"),
  package: "sigs.k8s.io/descheduler/cmd/descheduler",
  ldflags: "-s -w",
};

export async function managerImage(): Promise<Image> {
  return goImage(MANAGER);
}

export async function deschedulerImage(): Promise<Image> {
  return goImage(DESCHEDULER);
}

/** The command of the controller on kubernetes_asyncio. */
export const ASYNCIO = ["python3", "/app/asyncio_controller.py"];

/** Controllers on kopf (`kopf run /app/kopf_controller.py`) and kubernetes_asyncio (`python3 /app/asyncio_controller.py`). */
export async function asyncioImage(): Promise<Image> {
  const wheels = join(programs, "wheels");
  const files = ["kopf_controller.py", "asyncio_controller.py"];
  return pythonImage({
    reference: "lab.local/asyncio-controller:1",
    requirements: join(wheels, "requirements.txt"),
    entries: [
      ...files.map(file => ({ path: `app/${file}`, copy: join(wheels, file) })),
      // kopf asks for the name of its user.
      { path: "etc/passwd", content: "root:x:0:0:root:/:/bin/sh\n" },
    ],
    command: ASYNCIO,
  });
}

/** The command of the controller on fabric8. */
export const FABRIC8 = javaCommand("Controller");

export async function fabric8Image(): Promise<Image> {
  return javaImage({ reference: "lab.local/fabric8:1", sources: join(programs, "fabric8"), className: "Controller" });
}
