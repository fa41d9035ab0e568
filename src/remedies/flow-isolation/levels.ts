import { FLOW_PREFIX } from "../../api/names";
import { SYSTEM_NAMESPACE } from "../../core/components";
import type { JsonObject } from "../../core/json";
import { QUARANTINE_LEVEL } from "../../core/owned";
import type { FlowIsolationFacts } from "./facts";

// Seats of a level = ceil(server's limit x its shares / all shares). The limit of a default API server is 600 (400 reading and 200 writing
// requests at a time), and the built-in levels have 245 shares: workload-low 100, workload-high 40, node-high 40, system 30,
// global-default 20, leader-election 10, catch-all 5 (kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go).
// The choice and its reasons: docs/adr/0015.

/** Limits of a level. */
export interface LevelSettings {
  readonly nominalConcurrencyShares: number;
  readonly lendablePercent: number;
  readonly borrowingLimitPercent: number;
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthLimit: number;
}

/** The level of all custom controllers. */
export const SHARED_LEVEL = `${FLOW_PREFIX}shared`;

/** The level for leases: a throttled client keeps its leases, and does not crowd out those of the control plane. */
export const LEASE_LEVEL = `${FLOW_PREFIX}leases`;

/** The level on which a built-in FlowSchema (kube-system-service-accounts) has the ServiceAccounts of kube-system. */
export const SYSTEM_LEVEL = "workload-high";

/** Reports whether objects share the level. */
export function isCommon(level: string): boolean {
  return [SHARED_LEVEL, LEASE_LEVEL, QUARANTINE_LEVEL].includes(level);
}

/**
 * 10 shares of 255 are 24 of 600 seats: few, since seats bound how many requests of a flood run in parallel. A flood would borrow, so the level
 * neither borrows nor lends. With hands of 2 out of 128 queues, a neighbor shares both queues of a flood once in 8,128 cases. A queue of 250
 * holds the requests of a careless client; rejections by a full queue would feed its loop.
 */
export const SHARED_SETTINGS: LevelSettings = {
  nominalConcurrencyShares: 10,
  lendablePercent: 0,
  borrowingLimitPercent: 0,
  queues: 128,
  handSize: 2,
  queueLengthLimit: 250,
};

/**
 * 5 shares of 260 are 12 of 600 seats, and as many idle ones of others: a lease takes milliseconds. A flood of leases delays other leases of
 * this level little, since it has a hand of 4 out of 64 queues.
 */
export const LEASE_SETTINGS: LevelSettings = {
  nominalConcurrencyShares: 5,
  lendablePercent: 0,
  borrowingLimitPercent: 100,
  queues: 64,
  handSize: 4,
  queueLengthLimit: 50,
};

/**
 * No seats, no borrowing, and a long queue: nothing is ever dispatched. Each request waits for a quarter of its deadline (15 s of the usual
 * minute) and is then rejected, so a client that loops on the answer slows down. An immediate rejection would feed the loop
 * (docs/facts/kubernetes.md).
 */
export const QUARANTINE_SETTINGS: LevelSettings = {
  nominalConcurrencyShares: 0,
  lendablePercent: 0,
  borrowingLimitPercent: 0,
  queues: 1,
  handSize: 1,
  queueLengthLimit: 2_000,
};

/** Requests still queued in quarantine at the release are rejected, and counted, within this time in milliseconds. */
export const DRAINED_MS = 15_000;

/** The spec of a level, including the fields that the API server would default. */
export function levelSpec(settings: LevelSettings): JsonObject {
  const { nominalConcurrencyShares, lendablePercent, borrowingLimitPercent, ...queuing } = settings;
  return {
    type: "Limited",
    limited: {
      nominalConcurrencyShares,
      lendablePercent,
      borrowingLimitPercent,
      limitResponse: { type: "Queue", queuing },
    },
  };
}

/**
 * The level of the targets' ServiceAccounts while they are not throttled. Controllers of kube-system keep the level that Kubernetes gives them,
 * which has more seats than the shared level.
 */
export function usualLevel({ owner, levels }: Pick<FlowIsolationFacts, "owner" | "levels">): string {
  const isThere = levels.some(view => view.name === SYSTEM_LEVEL && view.spec["type"] === "Limited");
  return owner.metadata.namespace === SYSTEM_NAMESPACE && isThere ? SYSTEM_LEVEL : SHARED_LEVEL;
}
