import {
  ASYNCIO,
  asyncioImage,
  deschedulerImage,
  FABRIC8,
  fabric8Image,
  managerImage,
  nodeControllerImage,
  pythonControllerImage,
} from "../../controllers/images";
import { kubeScheduler } from "../../controllers/kube-scheduler";
import { descheduler, kubeControllerManager } from "../../controllers/lease-holder";
import { smallController, type SmallControllerOptions } from "../../controllers/small-controller";
import type { Lab } from "../../lab";
import { schedulerImage } from "../../lab/images";

export const NAMESPACE = "zoo";

/** How one instance of a program differs from the others. */
export interface Variant {
  readonly replicas?: number;
  readonly mayRead?: boolean;
  readonly kind?: NonNullable<SmallControllerOptions["kind"]>;
}

interface ProgramOf {
  readonly image: keyof typeof IMAGES;
  /** The end of the path of its process. */
  readonly process: string;
  /** The RoleBinding that allows its Lease; absent: it has no Lease. */
  readonly leaseBinding?: (name: string) => string;
  readonly objects: (place: { namespace: string; name: string; image: string }, variant: Variant) => object[];
}

const IMAGES = {
  controlPlane: schedulerImage,
  node: nodeControllerImage,
  python: pythonControllerImage,
  asyncio: asyncioImage,
  fabric8: fabric8Image,
  manager: managerImage,
  descheduler: deschedulerImage,
};

/** References of the images. */
export type Images = Readonly<Record<keyof typeof IMAGES, string>>;

const small =
  (command: readonly string[], lease: boolean): ProgramOf["objects"] =>
  (place, variant) =>
    smallController({ ...place, ...variant, command, lease });

const named = (name: string): string => name;
const ownBinding = (name: string): string => `${name}-lease`;

/** The programs. Those of the Kubernetes project are as released; the others are small programs on a client library. */
export const PROGRAMS = {
  "kube-scheduler": {
    ...{ image: "controlPlane", process: "kube-scheduler", leaseBinding: named },
    objects: (place, { replicas = 1 }) => kubeScheduler({ ...place, replicas }),
  },
  "kube-controller-manager": {
    ...{ image: "controlPlane", process: "kube-controller-manager", leaseBinding: named },
    objects: place => kubeControllerManager(place),
  },
  descheduler: { image: "descheduler", process: "descheduler", leaseBinding: named, objects: descheduler },
  "controller-runtime": {
    ...{ image: "manager", process: "controller-runtime-manager", leaseBinding: ownBinding },
    objects: small(["controller-runtime-manager"], true),
  },
  fabric8: {
    ...{ image: "fabric8", process: "java", leaseBinding: ownBinding },
    objects: small(FABRIC8, true),
  },
  kubernetes_asyncio: {
    ...{ image: "asyncio", process: "python3", leaseBinding: ownBinding },
    objects: small(ASYNCIO, true),
  },
  kopf: {
    ...{ image: "asyncio", process: "python3" },
    objects: small(
      ["python3", "-m", "kopf", "run", "--standalone", `--namespace=${NAMESPACE}`, "/app/kopf_controller.py"],
      false,
    ),
  },
  "@kubernetes/client-node": {
    ...{ image: "node", process: "node" },
    objects: small(["node", "/app/controller.js"], false),
  },
  "Python kubernetes": {
    ...{ image: "python", process: "python3" },
    objects: small(["python3", "-u", "/app/controller.py"], false),
  },
} as const satisfies Readonly<Record<string, ProgramOf>>;

export type Program = keyof typeof PROGRAMS;

/** Builds the images of these programs, and loads them into the node. */
export async function loadImages(lab: Lab, programs: ReadonlySet<Program>): Promise<Partial<Images>> {
  const needed = new Set([...programs].map(program => PROGRAMS[program].image));
  const loaded: [string, string][] = [];
  for (const name of needed) {
    const { reference, tar } = await IMAGES[name]();
    await lab.loadImage(tar);
    loaded.push([name, reference]);
  }
  return Object.fromEntries(loaded);
}

/** The objects of one instance. */
export function objectsOf(program: Program, name: string, variant: Variant, images: Partial<Images>): object[] {
  const { image, objects }: ProgramOf = PROGRAMS[program];
  return objects({ namespace: NAMESPACE, name, image: images[image] ?? "" }, variant);
}

/** Reports whether instances of a program have a Lease of their name. */
export function hasLease(program: Program): boolean {
  return "leaseBinding" in PROGRAMS[program];
}

/** The RoleBinding that allows the Lease of an instance. */
export function leaseBindingOf(program: Program, name: string): string {
  const { leaseBinding = named }: ProgramOf = PROGRAMS[program];
  return leaseBinding(name);
}
