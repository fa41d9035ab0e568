import { conditionsIn } from "./checker/conditions";
import { holderOf } from "./checker/objects";
import { type Entry, onNewLeader, type Sight, type Truth, workloadOf } from "./checker/sight";
import { CAUSES } from "./programs/causes";
import { isWrite } from "./server/journal";
import type { Obj } from "./server/objects";
import type { Plan } from "./world/plan";

// The story of a world, in prose: what there is, then time, who, what, and how it ends.

/** Collects what a reader wants to know of a world. */
export class Story {
  readonly lines: string[];
  readonly #states = new Map<string, string>();
  /** When each was told last. */
  readonly #refusals = new Map<string, number>();
  #violations = 0;

  constructor(
    private readonly sight: Sight,
    isWanted: boolean,
  ) {
    this.lines = introduction(sight.plan);
    if (!isWanted) return;
    sight.onRequest(entry => this.#tell(entry));
    onNewLeader(sight, lease => this.add(`${holderOf(lease) ?? "nobody"} leads`));
    sight.clock.every(5_000, () => this.#lookAtPods());
  }

  /** A line by another writer, such as of what happens to the world. */
  add(text: string): void {
    this.lines.push(`${timeOf(this.sight.clock.monotonicMs())}  ${text}`);
  }

  broken(promise: number, sentence: string): void {
    this.#violations++;
    this.add(`!! BROKEN PROMISE ${promise}: ${sentence}`);
  }

  /** Says how it ends. */
  end(): void {
    const truths = this.sight.truths();
    const bad = truths.filter(({ state }) => state !== "works");
    this.add(`The end: ${truths.length - bad.length} of ${truths.length} containers work.`);
    this.#addGroups(bad.map(truth => ({ truth, what: sentenceOf(truth) })));
    this.add(this.#violations === 0 ? "No promise was broken." : `Broken promises: ${this.#violations}.`);
  }

  #lookAtPods(): void {
    const news = this.sight.truths().map(truth => ({ truth, what: this.#newsOf(truth) }));
    this.#addGroups(news.filter(({ what }) => what !== ""));
  }

  /** Empty if there is none. */
  #newsOf(truth: Truth): string {
    const key = `${truth.uid} ${truth.container}`;
    const before = this.#states.get(key);
    const now = sentenceOf(truth);
    this.#states.set(key, now);
    if (before === now || (before === undefined && truth.state === "starting")) return "";
    const wasStarting = before === undefined || before === CAUSES.starting;
    return wasStarting && truth.state === "works" ? "It has started, and works." : now;
  }

  /** One line for all containers of a workload of which the same is true. */
  #addGroups(news: readonly { readonly truth: Truth; readonly what: string }[]): void {
    const groups = new Map<string, { readonly names: string[]; readonly workload: string; readonly what: string }>();
    for (const { truth, what } of news) {
      const { namespace, name, container } = truth;
      const role = container === "main" ? "" : ` (${container})`;
      const workload = `${namespace}/${truth.workload.replace(/^.*\//, "")}${role}`;
      const group = groups.get(`${workload} ${what}`) ?? { names: [], workload, what };
      groups.set(`${workload} ${what}`, group);
      group.names.push(`${namespace}/${name}${role}`);
    }
    for (const { names, workload, what } of groups.values())
      this.add(`${names.length === 1 ? names[0]! : `${names.length} pods of ${workload}`}: ${what}`);
  }

  #tell(entry: Entry): void {
    const { resource, subresource, before, after } = entry;
    if (!isWrite(entry) || resource === "leases" || resource === "events") return;
    if (subresource === "status") this.#tellStatus(whereOf(entry), before, after, refusalOf(entry));
    else this.#addDeed(deedOf(entry), refusalOf(entry));
  }

  /** What is refused again and again is told once in ten minutes. */
  #addDeed(deed: string, refused: string): void {
    const nowMs = this.sight.clock.monotonicMs();
    const toldMs = this.#refusals.get(deed + refused) ?? -Infinity;
    if (refused !== "" && nowMs - toldMs < 600_000) return;
    this.#refusals.set(deed + refused, nowMs);
    this.add(`${deed}${refused}`);
  }

  /** Ready sums up the others, and Reconciling says the same in other words. */
  #tellStatus(where: string, before: Obj | undefined, after: Obj | undefined, refused: string): void {
    if (refused !== "") {
      this.add(`the status of ${where} is not written${refused}`);
      return;
    }
    const old = new Map(conditionsIn(before).map(one => [one.type, one]));
    for (const { type, status, reason, message } of conditionsIn(after)) {
      const was = old.get(type);
      const isSame = was?.status === status && was.reason === reason;
      if (isSame || SUMMARIES.has(type) || (type === "Stalled" && status === "False")) continue;
      this.add(`${where} says ${type} is ${status} (${reason}): ${firstClause(message)}`);
    }
  }
}

const SUMMARIES = new Set(["Ready", "Reconciling"]);

/** What there is at first. */
function introduction(plan: Plan): string[] {
  const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;
  const { nodes, servers, operators, workloads, objects, bindings } = plan;
  return [
    `A cluster with ${count(nodes, "node")}, ${count(servers, "API server")} and ${count(operators.length, "replica")} of the operator.`,
    ...operators.flatMap((offsetMs, at) => (Math.abs(offsetMs) < 1_000 ? [] : clockOf(at, offsetMs))),
    ...workloads.map(({ namespace, name, kind, program, shard, sidecar, replicas = 1, ...more }) => {
      const size = kind === "DaemonSet" ? "on each node" : count(replicas, "pod");
      const some = shard === undefined ? "" : `, some of them ${shard}`;
      const beside = sidecar === undefined ? "" : `, beside it ${sidecar}`;
      const lease = more.leaseSeconds === undefined ? "" : `, with a Lease of ${more.leaseSeconds} s`;
      const skipped = more.isSkipped === true ? ", which the operator must skip" : "";
      return `  ${namespace}/${name}: a ${kind}, ${size}, runs ${program}${some}${beside}${lease}${skipped}.`;
    }),
    ...objects.map(({ namespace, name, spec }) => {
      const kind = namespace === undefined ? "ClusterControllerResilience " : `ControllerResilience ${namespace}/`;
      return `  ${kind}${name}: ${JSON.stringify(spec)}`;
    }),
    ...bindings.map(({ namespace, name, expiresMs, consents }) => {
      const how = consents ? "may be renewed" : "is not to be renewed";
      return `  ${namespace}/${name}: a RoleBinding that expires at ${timeOf(expiresMs)} and ${how}.`;
    }),
    "",
  ];
}

function clockOf(operator: number, offsetMs: number): string {
  const seconds = Math.round(Math.abs(offsetMs) / 1_000);
  return `  The clock of controller-resilience-${operator} is ${seconds} s ${offsetMs > 0 ? "ahead" : "behind"}.`;
}

function sentenceOf({ cause }: Truth): string {
  return CAUSES[cause];
}

/** Messages begin with what happened. */
function firstClause(message: string): string {
  const [first = ""] = message.split(/(?<=[.;])\s/, 1);
  return first.length > 160 ? `${first.slice(0, 157)}...` : first.replace(/;$/, " ...");
}

const PAST: Readonly<Record<string, string>> = {
  create: "creates",
  update: "updates",
  patch: "patches",
  delete: "deletes",
};

function whereOf({ namespace = "", name, after }: Entry): string {
  return `${namespace === "" ? "" : `${namespace}/`}${name ?? after?.metadata.name ?? ""}`;
}

function refusalOf({ code }: Entry): string {
  if (code >= 200 && code < 300) return "";
  return code === 0 ? ", without an answer" : `, refused with ${code}`;
}

function deedOf(entry: Entry): string {
  const { from, verb, resource, subresource, before } = entry;
  if (subresource !== "eviction") return `${from} ${PAST[verb] ?? verb} ${resource} ${whereOf(entry)}`;
  const workload = before && workloadOf(before);
  return `${from} evicts ${whereOf(entry)}${workload === undefined ? "" : ` of ${workload}`}`;
}

/** `h:mm:ss` from the start of the world. */
export function timeOf(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${Math.floor(seconds / 3_600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}
