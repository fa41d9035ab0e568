import { setTimeout as sleep } from "node:timers/promises";
import { microTime } from "../../../src/core/time";
import type { ClusterClient } from "../../cluster/client";
import { flowSchema, priorityLevel } from "../../cluster/objects";
import { processIn } from "../../e2e/pod-process";
import { leaseBindingOf, NAMESPACE, type Program, PROGRAMS } from "./programs";

/** An innocent process is suspended, or scaled to zero, for this long: shorter than `for`. */
const PAUSE_MS = 35_000;

/** Time in which a holder can't renew its Lease: longer than client-go tries. And time to come back in, so that each loss is a separate one. */
const LOSE_MS = 20_000;
const RECOVER_MS = 60_000;
const LOSSES = 3;

/** One instance of a program in the lab. */
export interface Subject {
  readonly client: ClusterClient;
  readonly program: Program;
  readonly name: string;
}

/** The fate of an instance. */
export interface Death {
  readonly what: string;
  readonly come: (subject: Subject) => Promise<unknown>;
}

const nothing = (): Promise<void> => Promise.resolve();

export const HEALTHY: Death = { what: "none", come: nothing };
export const NEVER_ALLOWED: Death = { what: "403s from its start on, its normal life", come: nothing };
export const HANGS: Death = { what: "hangs (SIGSTOP) and logs nothing", come: subject => signal(subject, "SIGSTOP") };
export const RECREATED: Death = {
  what: "ServiceAccount recreated",
  come: ({ client, name }) => client.recreateServiceAccount(NAMESPACE, name),
};
export const UNBOUND: Death = {
  what: "RoleBinding deleted",
  come: ({ client, name }) => client.deleteBinding("RoleBinding", name, NAMESPACE),
};
export const LEASE_DENIED: Death = {
  what: "RoleBinding for its Lease deleted",
  come: ({ client, program, name }) => client.deleteBinding("RoleBinding", leaseBindingOf(program, name), NAMESPACE),
};

/** A backup that was restored, or a second installation with the same name, writes the Lease. */
export const TAKEN: Death = {
  what: `another takes its Lease, ${LOSSES} times`,
  come: subject => again(subject, ({ client, name }) => client.apply([lease(name, "another")]), nothing),
};
export const THROTTLED: Death = {
  what: `its requests are throttled, ${LOSSES} times`,
  come: subject => again(subject, throttle, release),
};
export const DENIED_AGAIN: Death = {
  what: `RoleBinding for its Lease deleted and restored, ${LOSSES} times`,
  come: async subject => {
    const { client, program, name } = subject;
    const binding = await client.binding("RoleBinding", leaseBindingOf(program, name), NAMESPACE);
    const { kind, metadata, roleRef, subjects } = binding!;
    const copy = { apiVersion: "rbac.authorization.k8s.io/v1", kind, roleRef, subjects };
    const restored = { ...copy, metadata: { namespace: NAMESPACE, name: metadata.name } };
    await again(
      subject,
      () => client.deleteBinding("RoleBinding", metadata.name, NAMESPACE),
      () => client.apply([restored]),
    );
  },
};

export const SUSPENDED: Death = {
  what: `suspended for ${PAUSE_MS / 1_000} s`,
  come: async subject => {
    await signal(subject, "SIGSTOP");
    await sleep(PAUSE_MS);
    await signal(subject, "SIGCONT");
  },
};
export const SCALED: Death = {
  what: `scaled to zero for ${PAUSE_MS / 1_000} s`,
  come: async ({ client, name }) => {
    await scale(client, name, 0);
    await sleep(PAUSE_MS);
    await scale(client, name, 1);
  },
};
export const ROLLED: Death = {
  what: "rolling update",
  come: ({ client, name }) => client.output(["rollout", "restart", `deployment/${name}`, `--namespace=${NAMESPACE}`]),
};
export const HANDED_OVER: Death = {
  what: "its leader is deleted, the other replica takes over",
  come: async ({ client, name }) => {
    const [pod = ""] = (await leaseField({ client, name }, "holderIdentity")).split("_", 1);
    await client.output(["delete", "pod", pod, `--namespace=${NAMESPACE}`, "--wait=false"]);
  },
};
/** The old Lease stays. A pod of a StatefulSet has the name of the one before it. */
export const SWITCHED_OFF: Death = {
  what: "an upgrade switches leader election off",
  come: ({ client, name }) =>
    client.output(["set", "env", `statefulset/${name}`, `--namespace=${NAMESPACE}`, "LEASE-"]),
};
export const LOCKS: Death = {
  what: "takes another Lease as a lock, once",
  come: async ({ client, name }) => {
    const [pod] = await client.pods(NAMESPACE, name);
    await client.apply([lease(`${name}-lock`, pod!.metadata.name)]);
  },
};

/** Lets a holder lose its Lease several times; in the time between, it takes it again. */
async function again(
  subject: Subject,
  disturb: (subject: Subject) => Promise<unknown>,
  stop: (subject: Subject) => Promise<unknown>,
): Promise<void> {
  for (let round = 0; round < LOSSES; round += 1) {
    await disturb(subject);
    await sleep(LOSE_MS);
    await stop(subject);
    await sleep(RECOVER_MS);
    await untilRenewed(subject);
  }
}

/** Waits until the program holds its Lease again: the kubelet may delay the restart of its container. */
async function untilRenewed(subject: Subject): Promise<void> {
  const renewTime = (): Promise<string> => leaseField(subject, "renewTime");
  const before = await renewTime();
  const endMs = performance.now() + RECOVER_MS;
  while ((await renewTime()) === before) {
    if (performance.now() > endMs) throw new Error(`${subject.name} did not take its Lease again`);
    await sleep(1_000);
  }
}

function leaseField({ client, name }: Pick<Subject, "client" | "name">, field: string): Promise<string> {
  return client.output(["get", "lease", name, `--namespace=${NAMESPACE}`, "-o", `jsonpath={.spec.${field}}`]);
}

function lease(name: string, holderIdentity: string): object {
  const now = microTime(Date.now());
  const spec = { holderIdentity, leaseDurationSeconds: 15, acquireTime: now, renewTime: now };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { namespace: NAMESPACE, name }, spec };
}

/** Its ServiceAccount gets a level without seats, and a queue of one. */
async function throttle({ client, name }: Subject): Promise<void> {
  const [own, seats] = [`zoo-${name}`, { nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0 }];
  await client.apply([
    priorityLevel(own, { ...seats, queues: 1, handSize: 1, queueLengthLimit: 1 }),
    flowSchema(own, own, { namespace: NAMESPACE, name }, 50),
  ]);
}

async function release({ client, name }: Subject): Promise<void> {
  await client.output(["delete", "flowschema,prioritylevelconfiguration", `zoo-${name}`]);
}

async function signal({ client, program, name }: Subject, what: NodeJS.Signals): Promise<void> {
  const [pod] = await client.pods(NAMESPACE, name);
  process.kill(processIn(pod!.metadata.name, PROGRAMS[program].process), what);
}

async function scale(client: ClusterClient, name: string, replicas: number): Promise<void> {
  await client.output(["scale", `deployment/${name}`, `--namespace=${NAMESPACE}`, `--replicas=${replicas}`]);
}
