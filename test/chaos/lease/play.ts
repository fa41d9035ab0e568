import { setTimeout as sleep } from "node:timers/promises";
import { ApiLeaseStore } from "../../../src/cluster/write/lease-store";
import { systemClock, systemRandom } from "../../../src/cluster/system";
import { DEFAULT_TIMING, LeaderElector } from "../../../src/engine/lead/leader-election";
import { RecordingLog, RecordingMetrics } from "../../../src/engine/testing/fakes";
import type { Admin } from "../../cluster/admin";
import { OPERATOR } from "../../cluster/installation";
import type { Lab } from "../../lab";
import { describeCall } from "../calls";
import { actionsOf } from "../crash/compare";
import type { Interceptor } from "../proxy";
import { LEASE, type Rig } from "../rig";
import { until } from "../scenario";
import { bindingRenewal } from "../scenarios/binding-renewal";
import { untilSettled } from "../settle";
import { COLLISIONS, isOfLease, type LeaseFault, type Ongoing } from "./faults";
import { brokenPromises } from "./judge";

/** Time limit for a Lease to expire and be acquired by another, or by its holder again after backoff. In milliseconds. */
const PATIENCE_MS = 120_000;
/** Long enough to see two attempts with the longest backoff, in milliseconds. */
const WITHOUT_MS = 30_000;

/** Observations of one loss. */
export interface Loss {
  readonly fault: string;
  /** Counts of the fault itself. */
  readonly counted: string;
  /** Requests for the Lease during the fault, after the loss if there was one, and the duration in seconds. */
  readonly asked: number;
  readonly seconds: number;
  /** Answers to requests for the Lease during the fault, by status code. */
  readonly codes: Readonly<Record<number, number>>;
  readonly failures: readonly string[];
}

/** The leader loses its Lease to a rival, must not do the work that comes up meanwhile, and does it when it leads again. */
export async function lose(rig: Rig, lab: Lab, fault: LeaseFault): Promise<Loss> {
  const scene = await rig.scene("lease");
  const { operator, proxy } = rig;
  await bindingRenewal.prepare(scene);
  await until("the operator to lead", () => operator.leads(), PATIENCE_MS);
  const eventsBefore = await eventsOf(scene.admin);
  const logFrom = operator.log.length;
  const lease = new LeaseCalls();
  const ongoing = await fault.begin({ lab, scene });
  proxy.interceptor = lease.through(ongoing);
  const rival = new Rival(scene.admin);
  const seen = await rival.while(async () => {
    await until("the operator to lose the lead", async () => !(await operator.leads()), PATIENCE_MS);
    // Until then it wrote as the leader.
    void proxy.watch({ namespace: scene.namespace, kill: rig.kill });
    await until("a rival to lead", () => Promise.resolve(rival.leads), PATIENCE_MS);
    const stillLed = await operator.leads();
    lease.forget();
    await bindingRenewal.trigger(scene);
    const startedMs = performance.now();
    await sleep(WITHOUT_MS);
    const [health, ready] = [await operator.probe("/healthz"), await operator.probe("/readyz")];
    const writes = [...proxy.writes, ...proxy.strays].map(
      write => `${describeCall(write)} in ${write.namespace ?? ""}`,
    );
    const seconds = (performance.now() - startedMs) / 1000;
    return { stillLed, health: health.status, ready: ready.status, writes, asked: lease.asked, seconds };
  });
  const codes = { ...lease.codes };
  const counted = await ongoing.end();
  proxy.interceptor = {};
  await until("the operator to lead again", () => operator.leads(), PATIENCE_MS);
  const { trouble } = await untilSettled(bindingRenewal, scene, () => ({ writes: proxy.writes.length }));
  if (trouble !== undefined) throw new Error(trouble);
  const lines = operator.log.slice(logFrom);
  const stopped = lines.find(({ msg }) => msg === "stopped leading");
  const events = await eventsOf(scene.admin);
  const failures = brokenPromises({
    ...seen,
    stoppedAtMs: Date.parse(String(stopped?.["time"])),
    rivalAtMs: rival.sinceMs,
    exitCode: operator.exitCode,
    leastSecondsBetween: DEFAULT_TIMING.retryPeriodMs / 1000,
    told: events - eventsBefore,
    lost: lines.filter(({ msg }) => msg === "Event lost").length,
    actions: actionsOf(proxy.writes),
  });
  return { fault: fault.name, counted, asked: seen.asked, seconds: seen.seconds, codes, failures };
}

/** Leases of many other leaders compete with the operator's: it leads while it can renew in time, stays alive, and leads at the end. */
export async function collide(rig: Rig, lab: Lab): Promise<Loss> {
  const { operator, proxy } = rig;
  const scene = await rig.scene("lease");
  await until("the operator to lead", () => operator.leads(), PATIENCE_MS);
  const logFrom = operator.log.length;
  const lease = new LeaseCalls();
  const ongoing = await COLLISIONS.begin({ lab, scene });
  proxy.interceptor = lease.through(ongoing);
  const startedMs = performance.now();
  await sleep(WITHOUT_MS);
  const [ready, seconds] = [await operator.probe("/readyz"), (performance.now() - startedMs) / 1000];
  const counted = await ongoing.end();
  proxy.interceptor = {};
  await until("the operator to lead at the end", () => operator.leads(), PATIENCE_MS);
  const lost = operator.log.slice(logFrom).filter(({ msg }) => msg === "stopped leading").length;
  const failures = [
    ...(ready.status === 200 ? [] : [`/readyz said ${ready.status}`]),
    ...(ongoing.refusals?.() === 0 ? ["no request was refused"] : []),
  ];
  const { asked, codes } = lease;
  return { fault: COLLISIONS.name, counted: `${counted}; lead lost ${lost} times`, asked, seconds, codes, failures };
}

/** Another candidate, which the fault does not affect. */
class Rival {
  /** When the rival began to lead, by the machine's clock. */
  sinceMs = NaN;
  readonly #elector: LeaderElector;

  constructor({ api }: Admin) {
    this.#elector = new LeaderElector("rival", {
      store: new ApiLeaseStore(api, { namespace: OPERATOR.namespace, name: LEASE.split("/").at(-1)! }),
      clock: systemClock,
      random: systemRandom,
      log: new RecordingLog(),
      metrics: new RecordingMetrics(),
      onStartedLeading: () => (this.sinceMs = Date.now()),
      onStoppedLeading: () => undefined,
    });
  }

  get leads(): boolean {
    return this.#elector.isLeader();
  }

  /** Competes for the Lease during an action. */
  async while<T>(work: () => Promise<T>): Promise<T> {
    this.#elector.start();
    try {
      return await work();
    } finally {
      await this.#elector.stop();
    }
  }
}

/** Counts the calls of the Lease that pass through a fault. */
class LeaseCalls {
  asked = 0;
  codes: Record<number, number> = {};

  forget(): void {
    this.asked = 0;
  }

  through({ interceptor }: Ongoing): Interceptor {
    return {
      before: async (call, url) => {
        if (!isOfLease(url)) return undefined;
        this.asked++;
        return interceptor?.(call, url);
      },
      after: (_call, url, code) => {
        if (isOfLease(url)) this.codes[code] = (this.codes[code] ?? 0) + 1;
        return Promise.resolve();
      },
    };
  }
}

/** Number of Events on the Lease that report a loss of the lead. */
async function eventsOf(admin: Admin): Promise<number> {
  interface Told {
    readonly reason: string;
    readonly series?: { readonly count: number };
  }
  const path = `/apis/events.k8s.io/v1/namespaces/${OPERATOR.namespace}/events`;
  const { items } = await admin.get<{ items: readonly Told[] }>(path);
  const own = items.filter(({ reason }) => reason === "StoppedLeading");
  return own.reduce((sum, { series }) => sum + (series?.count ?? 1), 0);
}
