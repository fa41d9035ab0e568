import { setTimeout as sleep } from "node:timers/promises";
import { microTime } from "../../../src/core/time";
import { flowSchema, priorityLevel } from "../../cluster/objects";
import { ASYNCIO, FABRIC8 } from "../../controllers/images";
import { kubeScheduler } from "../../controllers/kube-scheduler";
import { descheduler, kubeControllerManager } from "../../controllers/lease-holder";
import { smallController, type SmallControllerOptions } from "../../controllers/small-controller";
import {
  deleteBinding,
  each,
  handOver,
  kubectl,
  leaseField,
  nothing,
  pause,
  recreateAccount,
  roll,
  signal,
  whileAtZero,
} from "./acts";
import { type Act, type Case, type Hands, KOPF, NAME } from "./stall-programs";

// Programs without work: those with a Lease lose it in every way, all may lose rights, and the innocents look like them.

/** How one instance of a program differs from the others. */
type Variant = Partial<Pick<SmallControllerOptions, "replicas" | "mayRead" | "kind">>;

interface Kind extends Pick<Case, "program" | "image"> {
  /** The end of the path of its process. */
  readonly process: string;
  /** The RoleBinding that allows its Lease; absent: it has no Lease. */
  readonly binding?: string;
  readonly objects: (place: { namespace: string; name: string; image: string }, variant: Variant) => object[];
}

const small =
  (command: readonly string[] | ((namespace: string) => readonly string[]), lease: boolean): Kind["objects"] =>
  (place, variant) => {
    const argv = typeof command === "function" ? command(place.namespace) : command;
    return smallController({ ...place, ...variant, command: argv, lease });
  };

const OWN = `${NAME}-lease`;

/** The programs. Those of the Kubernetes project are as released; the others are small programs on a client library. */
const KINDS = {
  scheduler: {
    ...{ program: "kube-scheduler", image: "scheduler", process: "kube-scheduler", binding: NAME },
    objects: (place, { replicas = 1 }) => kubeScheduler({ ...place, replicas }),
  },
  kcm: {
    ...{ program: "kube-controller-manager", image: "scheduler", process: "kube-controller-manager", binding: NAME },
    objects: place => kubeControllerManager(place),
  },
  descheduler: {
    ...{ program: "descheduler", image: "descheduler", process: "descheduler", binding: NAME },
    objects: descheduler,
  },
  manager: {
    ...{ program: "controller-runtime", image: "manager", process: "controller-runtime-manager", binding: OWN },
    objects: small(["controller-runtime-manager"], true),
  },
  fabric8: {
    ...{ program: "fabric8", image: "fabric8", process: "java", binding: OWN },
    objects: small(FABRIC8, true),
  },
  asyncio: {
    ...{ program: "kubernetes_asyncio", image: "asyncio", process: "python3", binding: OWN },
    objects: small(ASYNCIO, true),
  },
  kopf: { ...{ program: "kopf", image: "asyncio", process: "python3" }, objects: small(KOPF, false) },
  node: {
    ...{ program: "@kubernetes/client-node", image: "node", process: "node" },
    objects: small(["node", "/app/controller.js"], false),
  },
  python: {
    ...{ program: "Python kubernetes", image: "python", process: "python3" },
    objects: small(["python3", "-u", "/app/controller.py"], false),
  },
} as const satisfies Readonly<Record<string, Kind>>;

const ALL = ["Lease", "Forbidden", "LeaderLoss"];

type More = Partial<Case> & { readonly variant?: Variant };

function of(name: keyof typeof KINDS, what: string, act: Act, { variant = {}, ...more }: More = {}): Case {
  const { program, image, objects }: Kind = KINDS[name];
  const { replicas = 1, kind = "Deployment" } = variant;
  return {
    ...{ program, image, what, act, replicas, kind, spec: { for: "60s", evidence: ALL } },
    install: (namespace, reference) => objects({ namespace, name: NAME, image: reference }, variant),
    ...more,
  };
}

const STANDS = /holds Lease .* no longer renews it/;

/** When the binding was deleted is not known at first, nor after an outage. */
const BOUND = /holds Lease|RoleBinding web/;

/** An innocent process is suspended, or scaled to zero, for this long: shorter than `for`. */
const PAUSE_MS = 35_000;

/** Time in which a holder can't renew its Lease: longer than client-go tries. And time to come back in, so that each loss is a separate one. */
const LOSE_MS = 20_000;
const RECOVER_MS = 60_000;
const LOSSES = 3;

/** Lets a holder lose its Lease several times; in the time between, it takes it again. */
const lose =
  (disturb: Act, stop: Act): Act =>
  async hands => {
    for (let round = 0; round < LOSSES; round += 1) {
      await disturb(hands);
      await sleep(LOSE_MS);
      await stop(hands);
      await sleep(RECOVER_MS);
      await untilRenewed(hands);
    }
  };

/** Waits until the program holds its Lease again: the kubelet may delay the restart of its container. */
async function untilRenewed(hands: Hands): Promise<void> {
  const renewTime = (): Promise<string> => leaseField(hands, "renewTime");
  const before = await renewTime();
  await hands.client.until(`${hands.namespace} to take its Lease again`, async () => (await renewTime()) !== before);
}

const deny: Act = async hands => {
  const { client, namespace } = hands;
  const { roleRef, subjects } = (await client.binding("RoleBinding", NAME, namespace))!;
  const metadata = { namespace, name: NAME };
  const restored = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata, roleRef, subjects };
  await lose(deleteBinding(NAME), () => client.apply([restored]))(hands);
};

/** A backup that was restored, or a second installation with the same name, writes the Lease. */
const take: Act = ({ client, namespace }) => client.apply([lease(namespace, NAME, "another")]);

/** It takes another Lease as a lock, once. */
const lock: Act = async ({ client, namespace }) => {
  const [pod] = await client.pods(namespace, NAME);
  await client.apply([lease(namespace, `${NAME}-lock`, pod!.metadata.name)]);
};

function lease(namespace: string, name: string, holderIdentity: string): object {
  const now = microTime(Date.now());
  const spec = { holderIdentity, leaseDurationSeconds: 15, acquireTime: now, renewTime: now };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { namespace, name }, spec };
}

/** Its ServiceAccount gets a level without seats, and a queue of one. */
const throttle: Act = ({ client, namespace }) => {
  const own = `zoo-${namespace}`;
  const seats = { nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0 };
  return client.apply([
    priorityLevel(own, { ...seats, queues: 1, handSize: 1, queueLengthLimit: 1 }),
    flowSchema(own, own, { namespace, name: NAME }, 50),
  ]);
};

const release: Act = ({ client, namespace }) =>
  client.output(["delete", "flowschema,prioritylevelconfiguration", `zoo-${namespace}`]);

const losesLease = (name: keyof typeof KINDS, what: string, act: Act, told: RegExp): Case =>
  of(name, `${what}, ${LOSSES} times`, act, {
    told,
    beside: /lost its Lease/,
    spec: { for: "60s", evidence: ["LeaderLoss"] },
  });

const holders = ["scheduler", "kcm", "descheduler", "manager", "fabric8", "asyncio"] as const;
const suspended = `suspended for ${PAUSE_MS / 1_000} s`;
const suspend = (name: "scheduler" | "fabric8"): Case => {
  const { process } = KINDS[name];
  return of(name, suspended, each(signal(process, "SIGSTOP"), pause(PAUSE_MS), signal(process, "SIGCONT")));
};

/** By namespace. */
export const LEASE_CASES: Readonly<Record<string, Case>> = {
  // Four durations of the descheduler's Lease are nine minutes.
  ...named("hung", holders.toSpliced(2, 1), name =>
    of(name, "hangs (SIGSTOP) and logs nothing", signal(KINDS[name].process, "SIGSTOP"), { told: STANDS }),
  ),
  ...named("denied", holders, name =>
    of(name, "RoleBinding for its Lease deleted", deleteBinding(KINDS[name].binding), {
      // Its log does not name the request that is denied.
      told: name === "asyncio" ? STANDS : /RoleBinding web(-lease)? .* was deleted/,
      beside: BOUND,
    }),
  ),
  ...named("healthy", [...holders, "kopf", "node", "python"], name => of(name, "none", nothing)),
  // The others keep the watch that they have, which is not authorized again for minutes.
  ...named("unbound", ["node", "python"], name =>
    of(name, "RoleBinding deleted", deleteBinding(NAME), { told: /RoleBinding web .* was deleted/, beside: BOUND }),
  ),
  ...named("401", ["scheduler", "kcm", "fabric8", "asyncio"], name =>
    of(name, "ServiceAccount recreated", recreateAccount, { told: STANDS }),
  ),
  "scheduler-taken": losesLease(
    "scheduler",
    "another takes its Lease",
    lose(take, nothing),
    /lost its Lease 3 or more times .*no denial/,
  ),
  "kcm-denied-again": losesLease(
    "kcm",
    "RoleBinding for its Lease deleted and restored",
    deny,
    /lost its Lease 3 .* 403/,
  ),
  "manager-throttled": losesLease(
    "manager",
    "its requests are throttled",
    lose(throttle, release),
    /lost its Lease 3 or more times/,
  ),
  "scheduler-suspended": suspend("scheduler"),
  "fabric8-suspended": suspend("fabric8"),
  "scheduler-scaled": of("scheduler", `scaled to zero for ${PAUSE_MS / 1_000} s`, whileAtZero(pause(PAUSE_MS))),
  "manager-rolled": of("manager", "rolling update", roll),
  ...named("two", ["scheduler", "asyncio"], name =>
    of(name, "its leader is deleted, the other replica takes over", handOver, { variant: { replicas: 2 } }),
  ),
  // The old Lease stays. A pod of a StatefulSet has the name of the one before it.
  "manager-without": of(
    "manager",
    "an upgrade switches leader election off",
    kubectl("set", "env", `statefulset/${NAME}`, "LEASE-"),
    { variant: { kind: "StatefulSet" } },
  ),
  "descheduler-locks": of("descheduler", "takes another Lease as a lock, once", lock),
  ...named("never", ["python", "kopf"], name =>
    of(name, "403s from its start on, its normal life", nothing, { variant: { mayRead: false } }),
  ),
};

function named<Name extends string>(
  fate: string,
  names: readonly Name[],
  caseOf: (name: Name) => Case,
): Record<string, Case> {
  return Object.fromEntries(names.map(name => [`${name}-${fate}`, caseOf(name)]));
}
