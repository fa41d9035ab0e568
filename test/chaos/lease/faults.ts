import type { Lab } from "../../lab";
import { OPERATOR } from "../../cluster/installation";
import { eventually } from "../../cluster/admin";
import type { Reply } from "../exchange";
import type { Interceptor } from "../proxy";
import { LEASE } from "../rig";
import type { Scene } from "../scenario";
import { Crowd, CROWD } from "./crowd";

/** What a fault of the lease API may change. */
export interface Place {
  readonly lab: Lab;
  readonly scene: Scene;
}

/** A fault in progress. */
export interface Ongoing {
  /** Intercepts calls of the Lease at the proxy. */
  readonly interceptor?: NonNullable<Interceptor["before"]>;
  /** Ends the fault; returns its counts as text. */
  end(): Promise<string>;
  /** Requests of other leaders that the fault has refused so far. */
  readonly refusals?: () => number;
}

/** A reason why a leader can't renew its Lease. */
export interface LeaseFault {
  readonly name: string;
  begin(place: Place): Promise<Ongoing>;
}

const FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1";
const STARVED = "chaos-starved-leases";
/** Precedes every FlowSchema of the operator. */
const PRECEDENCE = 10;
/** The API server applies a FlowSchema after a short delay; in milliseconds. */
const IN_EFFECT_MS = 30_000;

const ROLE = `/apis/rbac.authorization.k8s.io/v1/namespaces/${OPERATOR.namespace}/roles/controller-resilience`;

/** One place in a queue that is never served. */
const ONE_PLACE = { type: "Queue", queuing: { queues: 1, handSize: 1, queueLengthLimit: 1 } };

/** Two requests fill the place; more keep it filled at all times, so no request of the level is ever served. */
const [FEW, MANY] = [3, 32];

/** All faults. The API server itself causes them where it can be made to do so. */
export const LEASE_FAULTS: readonly LeaseFault[] = [
  { name: "a priority level without seats, its queue full", begin: place => starve(place, ONE_PLACE, FEW) },
  { name: "the rights on the Lease are removed (403)", begin: takeRights },
  { name: "every call is answered 429", begin: () => Promise.resolve(answering(TOO_MANY)) },
  { name: "no call is ever answered", begin: () => Promise.resolve(silent()) },
];

/** Serves one request at a time and rejects all others. Whether it rejects so many that the Lease is lost is random. */
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
  const interceptor = (): Promise<Reply> => Promise.resolve((times++, reply));
  return { interceptor, end: () => Promise.resolve(`${times} calls answered ${reply.code}`) };
}

function silent(): Ongoing {
  let times = 0;
  let end: () => void = () => undefined;
  const over = new Promise<void>(resolve => (end = resolve));
  return {
    interceptor: async () => {
      times++;
      await over;
      throw new Error("the client no longer waits");
    },
    end: () => Promise.resolve((end(), `${times} calls never answered`)),
  };
}

/** Routes the Leases of the operator and of a crowd to their own level, which has no seats and can't borrow any. */
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

/** Whether the level is in use, which means that the API server matches requests against the schema. */
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
      return "the Role was deleted and created again";
    },
  };
}

/** Whether a call concerns the operator's Lease. */
export function isOfLease(url: string): boolean {
  return url.startsWith(LEASE.slice(0, LEASE.lastIndexOf("/")));
}
