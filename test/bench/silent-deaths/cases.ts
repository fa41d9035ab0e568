import { setTimeout as sleep } from "node:timers/promises";
import { roleBinding } from "../../cluster/objects";
import { IN_NODE } from "../../controllers/images";
import { kubeScheduler } from "../../controllers/kube-scheduler";
import { smallController } from "../../controllers/small-controller";
import { pauseImage } from "../../lab/images";
import { recreateAccount, signal } from "../zoo/acts";
import { type Act, change, IMAGES as ZOO_IMAGES, manager, NAME, widgetKind } from "../zoo/stall-programs";

/** The images of the cases, by the names that these use. */
export const IMAGES = { ...ZOO_IMAGES, shell: pauseImage };

/** A real program in a namespace of its own, as Deployment {@link NAME}. A victim dies; all others are innocent. */
export interface Case {
  readonly what: string;
  readonly image: keyof typeof IMAGES;
  readonly install: (namespace: string, image: string) => object[];
  /** How a victim dies. */
  readonly dies?: Act;
  /** Seconds after the first death: a tool that looks once a minute is met at different times of its minute. */
  readonly after?: number;
  /** How it is seen to work again; by default its next pod is Ready. */
  readonly proof?: "Lease" | "RoleBinding";
  /** Its kind, which must be served before it starts, and its work. */
  readonly kind?: (namespace: string) => object;
  readonly work?: Act;
  /** Its pod is rolled out anew just before the first death. */
  readonly isNew?: true;
}

/** Seconds after which the RoleBinding of `binding` is deleted, if its label does not say otherwise by then. */
const TTL = 60;
const TTL_LABEL = "cleanup.kyverno.io/ttl";

/** A RoleBinding that expires: Kyverno would delete it then, and here this does. */
const expire: Act = async ({ client, namespace }) => {
  const account = { namespace, name: NAME };
  const metadata = { ...account, labels: { [TTL_LABEL]: `${TTL}s` } };
  await client.deleteBinding("RoleBinding", NAME, namespace);
  await client.apply([roleBinding(metadata, { kind: "Role", name: NAME }, account)]);
  await sleep(TTL * 1_000);
  const found = await client.binding("RoleBinding", NAME, namespace);
  if (found !== undefined && !isRenewed(found.metadata)) await client.deleteBinding("RoleBinding", NAME, namespace);
};

/** Reports whether a RoleBinding has another life than {@link expire} gave it. */
export function isRenewed(metadata?: { readonly labels?: Readonly<Record<string, string>> }): boolean {
  return ![undefined, `${TTL}s`].includes(metadata?.labels?.[TTL_LABEL]);
}

type Install = Case["install"];

const run =
  (command: readonly string[], lease = false): Install =>
  (namespace, image) =>
    smallController({ namespace, name: NAME, image, command, lease });

const scheduler: Install = (namespace, image) => kubeScheduler({ namespace, name: NAME, image });
const controllerRuntime = run(["controller-runtime-manager"], true);
const clientNode = run(IN_NODE.command);
const python = run(["python3", "/app/controller.py"]);
const innocent = (role: string): Install => run(["python3", "/app/innocents.py", role]);
const slow = manager({ workers: 1 }).install;

const WORDS = `while :; do echo "level=warning msg=\\"login of user bob failed: Unauthorized\\""; sleep 3; done`;

const refused = { dies: recreateAccount };

/** By name. The order does not matter. */
export const CASES: Readonly<Record<string, Case>> = {
  scheduler: {
    ...{ what: "dead token: kube-scheduler", image: "scheduler", install: scheduler },
    ...{ ...refused, proof: "Lease" },
  },
  node: { what: "dead token: client-node", image: "node", install: clientNode, ...refused, after: 12 },
  manager: {
    ...{ what: "dead token: controller-runtime", image: "manager", install: controllerRuntime },
    ...{ ...refused, after: 24, proof: "Lease" },
  },
  python: { what: "dead token: Python", image: "python", install: python, ...refused, after: 36 },
  hung: {
    ...{ what: "hung: kube-scheduler (SIGSTOP)", image: "scheduler", install: scheduler },
    ...{ dies: signal("kube-scheduler", "SIGSTOP"), proof: "Lease" },
  },
  binding: {
    ...{ what: "RoleBinding expires after 60 s", image: "node", install: clientNode },
    ...{ dies: expire, proof: "RoleBinding" },
  },

  works: { what: "works: kube-scheduler", image: "scheduler", install: scheduler },
  rolled: { what: "works, just rolled out", image: "manager", install: controllerRuntime, isNew: true },
  slow: {
    ...{ what: "reconciles for 90 s each", image: "manager", install: slow },
    ...{ kind: widgetKind, work: change({ seconds: 90 }) },
  },
  idle: { what: "has nothing to do", image: "shell", install: run(["sleep", "86400"]) },
  server: { what: "logs the 401s that it gives its own clients", image: "python", install: innocent("server") },
  client: { what: "logs the 401s of a registry", image: "python", install: innocent("client") },
  words: { what: 'logs "Unauthorized" of its users', image: "shell", install: run(["sh", "-c", WORDS]) },
};
