import { type Entry, type Sight, workloadOf } from "./checker/sight";
import type { Obj } from "./server/objects";

// The story of a world, in prose: time, who, what.

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
}

/** Collects what a reader wants to know of a world. */
export class Story {
  readonly lines: string[] = [];
  readonly #states = new Map<string, string>();
  #leader = "";

  constructor(private readonly sight: Sight) {
    sight.onRequest(entry => this.#tell(entry));
    const look = (): void => {
      this.#lookAtPods();
      sight.clock.after(5_000, look);
    };
    look();
  }

  /** A line by somebody else, such as of what happens to the world. */
  add(text: string): void {
    this.lines.push(`${timeOf(this.sight.clock.monotonicMs())}  ${text}`);
  }

  #lookAtPods(): void {
    for (const { uid, namespace, name, container, state, cause } of this.sight.truths()) {
      const key = `${uid} ${container}`;
      const now = state === "works" ? "works" : `${state} (${cause})`;
      const before = this.#states.get(key);
      this.#states.set(key, now);
      if (before !== now && (before !== undefined || state !== "starting")) this.add(`${namespace}/${name}: ${now}`);
    }
  }

  #tell(entry: Entry): void {
    const { verb, resource, subresource, before, after } = entry;
    if (resource === "leases") this.#tellLead(after);
    else if (!WRITES.has(verb) || resource.endsWith("reviews") || resource === "events") return;
    else if (subresource === "status") this.#tellStatus(whereOf(entry), before, after, refusalOf(entry));
    else this.add(`${deedOf(entry)}${refusalOf(entry)}`);
  }

  #tellLead(lease: Obj | undefined): void {
    const { holderIdentity = "" } = (lease?.["spec"] ?? {}) as { holderIdentity?: string };
    if (lease?.metadata.name !== "controller-resilience" || holderIdentity === this.#leader) return;
    this.#leader = holderIdentity;
    this.add(holderIdentity === "" ? "nobody leads" : `${holderIdentity.replace(/_[^_]*$/, "")} leads`);
  }

  #tellStatus(where: string, before: Obj | undefined, after: Obj | undefined, refused: string): void {
    if (refused !== "") {
      this.add(`the status of ${where} is not written${refused}`);
      return;
    }
    const old = new Map(conditionsOf(before).map(one => [one.type, one]));
    for (const { type, status, reason } of conditionsOf(after)) {
      const was = old.get(type);
      if (was?.status === status && was.reason === reason) continue;
      this.add(`${where} says ${type} is ${status}: ${reason}`);
    }
  }
}

const WRITES = new Set(["create", "update", "patch", "delete"]);

const PAST: Readonly<Record<string, string>> = {
  create: "creates",
  update: "updates",
  patch: "patches",
  delete: "deletes",
};

function whereOf({ namespace = "", name, after }: Entry): string {
  return `${namespace}/${name ?? after?.metadata.name ?? ""}`;
}

function refusalOf({ code }: Entry): string {
  if (code >= 200 && code < 300) return "";
  return code === 0 ? ", without an answer" : `, refused with ${code}`;
}

function deedOf(entry: Entry): string {
  const { from, verb, resource, subresource, before } = entry;
  if (subresource !== "eviction") return `${from} ${PAST[verb] ?? verb} ${resource} ${whereOf(entry)}`;
  return `${from} evicts ${whereOf(entry)} of ${(before && workloadOf(before)) ?? "nothing"}`;
}

function conditionsOf(object: Obj | undefined): readonly Condition[] {
  return ((object?.["status"] ?? {}) as { conditions?: Condition[] }).conditions ?? [];
}

/** `h:mm:ss` from the start of the world. */
export function timeOf(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${Math.floor(seconds / 3_600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}
