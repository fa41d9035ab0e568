import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterClient } from "../../cluster/client";
import { kubeScheduler } from "../../controllers/kube-scheduler";
import { smallController } from "../../controllers/small-controller";
import { processIn } from "../../e2e/pod-process";

/** A namespace for all. */
export const NAMESPACE = "zoo";

/** An innocent process is suspended, or scaled to zero, for this long: shorter than `for`. */
const PAUSE_MS = 35_000;

/** References of the images. */
export type Images = Readonly<Record<"scheduler" | "node" | "python", string>>;

type Program = "kube-scheduler" | "@kubernetes/client-node" | "Python kubernetes";

/** How a program ends; it is given the client and the name of the Deployment. */
interface Death {
  readonly what: string;
  readonly come: (client: ClusterClient, name: string) => Promise<unknown>;
}

/** One real program and what becomes of it. */
export interface Animal {
  readonly name: string;
  readonly program: Program;
  readonly death: Death;
  readonly evidence: readonly string[];
  /** Part of the message that names the cause. */
  readonly found?: RegExp;
  /** It must not be accused. */
  readonly isInnocent: boolean;
  readonly objects: (images: Images) => object[];
}

const ALL = ["Lease", "Forbidden", "LeaderLoss", "Audit"];

const HEALTHY: Death = { what: "none", come: () => Promise.resolve() };
const HANGS: Death = {
  what: "hangs (SIGSTOP) and logs nothing",
  come: (client, name) => signal(client, name, "SIGSTOP"),
};
const RECREATED: Death = {
  what: "ServiceAccount recreated",
  come: (client, name) => client.recreateServiceAccount(NAMESPACE, name),
};
const UNBOUND: Death = {
  what: "RoleBinding deleted",
  come: (client, name) => client.deleteBinding("RoleBinding", name, NAMESPACE),
};
const SUSPENDED: Death = {
  what: `suspended for ${PAUSE_MS / 1_000} s (loses its Lease)`,
  come: async (client, name) => {
    await signal(client, name, "SIGSTOP");
    await sleep(PAUSE_MS);
    await signal(client, name, "SIGCONT");
  },
};
const SCALED: Death = {
  what: `scaled to zero for ${PAUSE_MS / 1_000} s`,
  come: async (client, name) => {
    await scale(client, name, 0);
    await sleep(PAUSE_MS);
    await scale(client, name, 1);
  },
};
const ROLLED: Death = {
  what: "rolling update",
  come: (client, name) => client.output(["rollout", "restart", `deployment/${name}`, `--namespace=${NAMESPACE}`]),
};
const NEVER_ALLOWED: Death = { what: "403s from its start on, its normal life", come: () => Promise.resolve() };

/** All of them. Add a program by its objects in test/controllers. */
export const ANIMALS: readonly Animal[] = [
  victim("scheduler-hung", "kube-scheduler", HANGS, { evidence: ALL, found: /holds Lease .* no longer renews it/ }),
  victim("scheduler-401-logs", "kube-scheduler", RECREATED, {
    evidence: ALL.slice(0, 3),
    found: /no longer renews it/,
  }),
  victim("scheduler-401-audit", "kube-scheduler", RECREATED, {
    evidence: ["Audit"],
    found: /gets 401 responses since .* no longer renews/,
  }),
  victim("scheduler-unbound", "kube-scheduler", UNBOUND, {
    evidence: ALL,
    found: /RoleBinding scheduler-unbound .* was deleted/,
  }),
  victim("node-401-audit", "@kubernetes/client-node", RECREATED, {
    evidence: ["Audit"],
    found: /gets 401 responses since .* no Lease/,
  }),
  victim("node-unbound", "@kubernetes/client-node", UNBOUND, {
    evidence: ALL,
    found: /RoleBinding node-unbound .* was deleted/,
  }),
  victim("python-401-audit", "Python kubernetes", RECREATED, {
    evidence: ["Audit"],
    found: /gets 401 responses since .* no Lease/,
  }),
  victim("python-unbound", "Python kubernetes", UNBOUND, {
    evidence: ALL,
    found: /RoleBinding python-unbound .* was deleted/,
  }),
  innocent("scheduler-healthy", "kube-scheduler", HEALTHY),
  innocent("scheduler-suspended", "kube-scheduler", SUSPENDED),
  innocent("scheduler-scaled", "kube-scheduler", SCALED),
  innocent("scheduler-rolled", "kube-scheduler", ROLLED),
  innocent("node-healthy", "@kubernetes/client-node", HEALTHY),
  innocent("python-healthy", "Python kubernetes", HEALTHY),
  innocent("python-never", "Python kubernetes", NEVER_ALLOWED),
];

function victim(name: string, program: Program, death: Death, sign: Pick<Animal, "evidence" | "found">): Animal {
  return { name, program, death, ...sign, isInnocent: false, objects: images => objectsOf(name, program, images) };
}

function innocent(name: string, program: Program, death: Death): Animal {
  const mayRead = death !== NEVER_ALLOWED;
  const objects = (images: Images): object[] => objectsOf(name, program, images, mayRead);
  return { name, program, death, evidence: ALL, isInnocent: true, objects };
}

function objectsOf(name: string, program: Program, images: Images, mayRead = true): object[] {
  const options = { namespace: NAMESPACE, name, mayRead };
  if (program === "kube-scheduler") return kubeScheduler({ ...options, image: images.scheduler });
  if (program === "Python kubernetes")
    return smallController({ ...options, image: images.python, command: ["python3", "-u", "/app/controller.py"] });
  return smallController({ ...options, image: images.node, command: ["node", "/app/controller.js"] });
}

async function signal(client: ClusterClient, name: string, what: NodeJS.Signals): Promise<void> {
  const [pod] = await client.pods(NAMESPACE, name);
  process.kill(processIn(pod!.metadata.name, "kube-scheduler"), what);
}

async function scale(client: ClusterClient, name: string, replicas: number): Promise<void> {
  await client.output(["scale", `deployment/${name}`, `--namespace=${NAMESPACE}`, `--replicas=${replicas}`]);
}
