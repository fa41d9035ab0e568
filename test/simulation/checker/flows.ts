import { keyOfObject } from "../cluster/ground";
import type { Obj } from "../server/objects";
import { Lately } from "./lasting";
import { acts, blockOf } from "./objects";
import { clocksMs, type Entry, type Report, type Sight } from "./sight";

// Promises 6 and 8: who is throttled and for how long, and what is left of an object that is gone.

const PREFIX = "controller-resilience.io/";
const QUARANTINE = "controller-resilience-tar-pit";

/** The longest throttle (docs/remedies/flow-isolation.md), and the time that its end may take. */
const LONGEST_MS = 3_600_000 + 300_000;

/** A throttle that ends late, while requests fail. */
const LATE_MS = 1_500_000;

interface Held {
  readonly sinceMs: number;
  readonly account: string;
}

/** Checks every FlowSchema that is written, and for how long it holds a client. */
export function checkFlows(sight: Sight, report: Report): void {
  const flows = new Flows(sight, report);
  sight.clock.every(10_000, () => flows.look());
  sight.onRequest(entry => {
    if (entry.code >= 300) return;
    if (entry.resource === "flowschemas" && entry.after !== undefined) flows.written(entry.after);
    if (isEnd(entry)) flows.ended(entry.before!);
  });
}

class Flows {
  /** Objects that ask for throttles, by namespace and name. */
  readonly #asking: Lately;
  readonly #held = new Map<string, Held>();

  constructor(
    private readonly sight: Sight,
    private readonly report: Report,
  ) {
    this.#asking = new Lately(sight, () =>
      sight.store.list("controllerresiliences").filter(throttles).map(keyOfObject),
    );
  }

  look(): void {
    const nowMs = this.sight.clock.monotonicMs();
    const held = this.sight.store.list("flowschemas").filter(isHeld);
    for (const uid of this.#held.keys()) if (!held.some(({ metadata }) => metadata.uid === uid)) this.#held.delete(uid);
    for (const schema of held) this.#look(schema, nowMs);
  }

  #look(schema: Obj, nowMs: number): void {
    const { uid, name } = schema.metadata;
    const known = this.#held.get(uid) ?? { sinceMs: nowMs, account: accountOf(schema) };
    this.#held.set(uid, known);
    const minutes = Math.round((nowMs - known.sinceMs) / 60_000);
    const isLate = nowMs - known.sinceMs > LONGEST_MS || this.#isOver(schema, known.account);
    if (isLate) this.report(6, `${name} still throttles ${known.account} after ${minutes} minutes`);
  }

  /** Its end, as status says it by the clock of a leader, was long ago. */
  #isOver({ metadata }: Obj, account: string): boolean {
    const owner = this.sight.store
      .list("controllerresiliences")
      .find(object => keyOfObject(object) === metadata.annotations?.[`${PREFIX}owner`]);
    if (owner === undefined || !acts(owner, "flowIsolation")) return false;
    const { flows = [] } = owner.status ?? {};
    const until = flows.find(({ serviceAccount }) => serviceAccount === account)?.until;
    return this.sight.clock.now().getTime() - Date.parse(until ?? "") > LATE_MS + clocksMs(this.sight);
  }

  written(schema: Obj): void {
    if (!isHeld(schema) || this.#held.has(schema.metadata.uid)) return;
    const owner = schema.metadata.annotations?.[`${PREFIX}owner`] ?? "";
    const account = accountOf(schema);
    this.#held.set(schema.metadata.uid, { sinceMs: this.sight.clock.monotonicMs(), account });
    const [namespace] = owner.split("/");
    // A person may give it another ServiceAccount (world/oddities.ts).
    const isIts = (name: string): boolean => account === name || account === `${name}-next`;
    const workload = this.sight.plan.workloads.find(one => one.namespace === namespace && isIts(one.name));
    if (workload?.program !== "floods") this.report(6, `throttled ${namespace}/${account}, which does not flood`);
    if (/^(agent|webhook)/.test(account))
      this.report(6, `throttled ${namespace}/${account}, a component of the cluster`);
    if (!this.#asking.has(owner))
      this.report(6, `throttled ${namespace}/${account}, and ${owner} does not ask for that`);
  }

  /** The operator has removed its finalizer from an object that is being deleted. */
  ended(object: Obj): void {
    const left = this.sight.store
      .list("flowschemas")
      .find(({ metadata: { labels } }) => labels?.[`${PREFIX}owner-uid`] === object.metadata.uid);
    if (left !== undefined) this.report(8, `${keyOfObject(object)} is gone, and left ${left.metadata.name}`);
  }
}

/** The finalizer of an object that is being deleted is removed. */
function isEnd({ resource, subresource, verb, before, body = "" }: Entry): boolean {
  const isFinalizer = resource === "controllerresiliences" && subresource === undefined && verb === "patch";
  return isFinalizer && before?.metadata.deletionTimestamp !== undefined && body.includes('"finalizers"');
}

function throttles(object: Obj): boolean {
  return acts(object, "flowIsolation") && blockOf(object, "flowIsolation").requestRate?.onRunaway === "Throttle";
}

function isHeld({ spec }: Obj): boolean {
  return spec?.priorityLevelConfiguration?.name === QUARANTINE;
}

/** The ServiceAccount whose requests it matches. */
function accountOf(schema: Obj): string {
  const { rules = [] } = schema.spec as {
    rules?: readonly { subjects: readonly { serviceAccount?: { name: string } }[] }[];
  };
  return rules[0]?.subjects[0]?.serviceAccount?.name ?? "";
}
