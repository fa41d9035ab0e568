import type { FlowIsolationSpec } from "../../api/controller-resilience";
import { FLOW_PREFIX } from "../../api/names";

// Seats of a level = ceil(server's limit x its shares / all shares). The limit of a default API server is 600 (400 reading and 200 writing
// requests at a time), and the built-in levels have 245 shares: workload-low 100, workload-high 40, node-high 40, system 30,
// global-default 20, leader-election 10, catch-all 5 (kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go).
// What is chosen and why: docs/adr/0015.

/** How a level limits what is on it. */
export type LevelSettings = NonNullable<FlowIsolationSpec["dedicated"]>;

/** The level that all custom controllers share, unless their object says otherwise. */
export const SHARED_LEVEL = `${FLOW_PREFIX}shared`;

/** The level that runaways are put on. */
export const TAR_PIT = `${FLOW_PREFIX}tar-pit`;

/** The built-in level of leases; what is throttled does not lose them. */
export const LEASE_LEVEL = "leader-election";

/** Whether it is one that objects share. */
export function isCommon(level: string): boolean {
  return level === SHARED_LEVEL || level === TAR_PIT;
}

/**
 * 10 shares of 255 are 24 of 600 seats: few, since seats bound what a flood may have worked on at once. What borrows is the flood, so nothing is
 * borrowed, and nothing lent. With hands of 2 out of 128 queues, a neighbour has both queues of a flood once in 8,128; 250 places hold the
 * requests of a careless client, where a full queue's refusals would feed its loop.
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
 * No seat, none borrowed, and a long queue: nothing is ever dispatched. Each request waits a quarter of its deadline (15 s of the usual
 * minute) and is refused then, so a client that loops on the answer is held still. Refusing at once would feed the loop
 * (docs/facts/kubernetes.md).
 */
export const TAR_PIT_SETTINGS: LevelSettings = {
  nominalConcurrencyShares: 0,
  lendablePercent: 0,
  borrowingLimitPercent: 0,
  queues: 1,
  handSize: 1,
  queueLengthLimit: 2_000,
};

/** What waits in the tar pit when a ServiceAccount is let go is refused within this, in milliseconds, and counted then. */
export const DRAINED_MS = 15_000;

/** The spec of a level, with every field that the API server would default. */
export function levelSpec(settings: LevelSettings): object {
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
 * Built-in levels that are no place for a custom controller: those of the control plane (workload-high has its controllers), of its leases,
 * of the people who would have to help (global-default), and the one that limits nothing; catch-all is too small for anybody (the same file
 * as above).
 */
const RESERVED: readonly string[] = [
  ...["exempt", "system", "node-high", "leader-election", "workload-high", "global-default", "catch-all"],
  TAR_PIT,
];

/** Whether a custom controller may be put on that level by the spec. */
export function isReserved(level: string): boolean {
  return RESERVED.includes(level);
}
