import type { Lab } from "../../lab";
import { OPERATOR } from "../../cluster/installation";
import { eventually } from "../../cluster/admin";
import type { Reply } from "../exchange";
import type { Meddler } from "../proxy";
import { LEASE } from "../rig";
import type { Scene } from "../scenario";
import { Crowd, CROWD } from "./crowd";

/** What a fault of the lease API may lay hands on. */
export interface Place {
  readonly lab: Lab;
  readonly scene: Scene;
}

/** A fault that is going on. */
export interface Ongoing {
  /** What befalls calls of its Lease at the proxy. */
  readonly befalls?: NonNullable<Meddler["before"]>;
  /** Ends it; returns what it counted, for people. */
  end(): Promise<string>;
  /** Requests of others that it has refused until now. */
  readonly refusals?: () => number;
}

/** Why a leader can't renew its Lease. */
export interface LeaseFault {
  readonly name: string;
  begin(place: Place): Promise<Ongoing>;
}

const FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1";
const STARVED = "chaos-starved-leases";
/** Before every FlowSchema of the operator's. */
const PRECEDENCE = 10;
/** The API server takes a FlowSchema into account after a moment; in milliseconds. */
const IN_EFFECT_MS = 30_000;

const ROLE = `/apis/rbac.authorization.k8s.io/v1/namespaces/${OPERATOR.namespace}/roles/controller-resilience`;

/** One place in a queue that nobody is taken out of. */
const ONE_PLACE = { type: "Queue", queuing: { queues: 1, handSize: 1, queueLengthLimit: 1 } };

/** Two are enough to keep one place full; so many never leave a moment in which nobody of the level is served. */
const [FEW, MANY] = [3, 32];

/** All of them, each for real where the API server can be made to do it. */
export const LEASE_FAULTS: readonly LeaseFault[] = [
  { name: "a priority level without seats, its queue full", begin: place => starve(place, ONE_PLACE, FEW) },
  { name: "its rights on the Lease are taken away (403)", begin: takeRights },
  { name: "every call is answered 429", begin: () => Promise.resolve(answering(TOO_MANY)) },
  { name: "no call is ever answered", begin: () => Promise.resolve(silent()) },
];

/** Serves one at a time, and rejects whoever comes meanwhile: whether that is so often that a Lease is lost is chance. */
export const COLLISIONS: LeaseFault = {
  name: "a priority level without seats that rejects, and many leaders",
  begin: place => starve(place, { type: "Reject" }, MANY),
};

const TOO_MANY: Reply = {
  code: 429,
  headers: { "retry-after": "1" },
  body: { kind: "Status", status: "Failure", code: 429, reason: "TooManyRequests", message: "by the proxy" },
};

function answering(reply: Reply): Ongoing {
  let times = 0;
  const befalls = (): Promise<Reply> => Promise.resolve((times++, reply));
  return { befalls, end: () => Promise.resolve(`${times} calls answered ${reply.code}`) };
}

function silent(): Ongoing {
  let times = 0;
  let end: () => void = () => undefined;
  const over = new Promise<void>(resolve => (end = resolve));
  return {
    befalls: async () => {
      times++;
      await over;
      throw new Error("nobody waits for it any more");
    },
    end: () => Promise.resolve((end(), `${times} calls never answered`)),
  };
}

/** Leases of the operator and of a crowd are sent to a level of their own that has no seats, and can't borrow any. */
async function starve({ lab, scene }: Place, limitResponse: object, size: number): Promise<Ongoing> {
  const { admin, namespace } = scene;
  const crowd = await Crowd.gather(lab, admin, namespace, size);
  const limited = { nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse };
  const level = { metadata: { name: STARVED }, spec: { type: "Limited", limited } };
  await admin.create(`${FLOWS}/prioritylevelconfigurations`, level);
  await admin.create(`${FLOWS}/flowschemas`, flowSchema(namespace));
  const path = `${FLOWS}/flowschemas/${STARVED}`;
  await eventually(() => admin.get<Schema>(path), isInEffect, IN_EFFECT_MS);
  const before = { answered: crowd.answered, refused: crowd.refused };
  return {
    refusals: () => crowd.refused - before.refused,
    end: async () => {
      const seen = { answered: crowd.answered - before.answered, refused: crowd.refused - before.refused };
      await admin.delete(path);
      await admin.delete(`${FLOWS}/prioritylevelconfigurations/${STARVED}`);
      await crowd.disperse();
      return `${size} others beside it: ${seen.answered} of theirs served, ${seen.refused} refused`;
    },
  };
}

interface Schema {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** The level was found, and so the schema is among those that requests are held against. */
function isInEffect({ status }: Schema): boolean {
  return (status?.conditions ?? []).some(({ type, status: is }) => type === "Dangling" && is === "False");
}

function flowSchema(namespace: string): object {
  const accounts = [
    { name: CROWD, namespace },
    { name: OPERATOR.serviceAccount, namespace: OPERATOR.namespace },
  ];
  const subjects = accounts.map(serviceAccount => ({ kind: "ServiceAccount", serviceAccount }));
  const leases = { verbs: ["*"], apiGroups: ["coordination.k8s.io"], resources: ["leases"], namespaces: ["*"] };
  return {
    metadata: { name: STARVED },
    spec: {
      matchingPrecedence: PRECEDENCE,
      priorityLevelConfiguration: { name: STARVED },
      rules: [{ subjects, resourceRules: [leases] }],
    },
  };
}

async function takeRights({ scene: { admin } }: Place): Promise<Ongoing> {
  const { rules } = await admin.get<{ rules: readonly object[] }>(ROLE);
  await admin.delete(ROLE);
  return {
    end: async () => {
      await admin.create(ROLE.slice(0, ROLE.lastIndexOf("/")), { metadata: { name: "controller-resilience" }, rules });
      return "the Role was deleted and made again";
    },
  };
}

/** Whether a call concerns the operator's Lease. */
export function isOfLease(url: string): boolean {
  return url.startsWith(LEASE.slice(0, LEASE.lastIndexOf("/")));
}
