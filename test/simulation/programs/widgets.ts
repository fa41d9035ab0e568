import type { Obj } from "../server/objects";
import type { CauseName } from "./causes";
import { Controller, type ControllerOptions } from "./controller";
import type { Answer, Asked, Program, ProgramContext, Truth } from "./program";

// A controller of its kind, Widget: a queue, workers, and metrics as controller-runtime writes them.

/** The kind that it handles, as a project that defines it would install it. */
export const WIDGETS = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { kind: "Widget", plural: "widgets", singular: "widget", listKind: "WidgetList" },
    versions: [
      {
        ...{ name: "v1", served: true, storage: true, subresources: { status: {} } },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { color: { type: "string" }, paused: { type: "boolean" } } },
              status: {
                type: "object",
                properties: { observedGeneration: { type: "integer" }, phase: { type: "string" } },
              },
            },
          },
        },
      },
    ],
  },
};

/** What its controller may do. */
export const WIDGET_RULES = [
  { apiGroups: ["example.com"], resources: ["widgets"], verbs: ["get", "list", "watch", "update"] },
  { apiGroups: ["example.com"], resources: ["widgets/status"], verbs: ["update"] },
];

/** The port of its metrics. */
export const METRICS_PORT = 8080;

/** A Widget that its controller leaves alone. */
export function isPaused({ spec }: Obj): boolean {
  return spec?.paused === true;
}

/** A Widget that its controller works on, as its status says. */
export function isProgressing(widget: Obj | undefined): boolean {
  return widget?.status?.phase === "Progressing";
}

/** What comes over a program, shared by all of its lives. */
export interface Fate {
  /** Since its first start, on average. */
  readonly afterMs: number;
  /** All workers block, or its watch falls silent: of the process that leads then, and of no successor. */
  readonly what?: "blocks" | "deaf";
  /** A worker that takes one of the first so many objects blocks, in each life. */
  readonly poisoned?: number;
  /** When it is due, by the first process that started, in milliseconds since 1970. */
  atMs?: number;
  isTaken?: boolean;
}

/** How it works. */
export interface WidgetOptions {
  readonly base: ControllerOptions;
  /** How long a reconcile takes, in milliseconds. */
  readonly takesMs: readonly [number, number];
  /** It writes to the status of an object before it works on it. */
  readonly tellsFirst?: boolean;
  readonly fate?: Fate;
}

/** As many as one of its workers each. */
export const WORKERS = 4;

/** It looks at its queue so often. */
const TICK_MS = 5_000;

/** A failed item comes back after so long. */
const RETRY_MS = 10_000;

/** Upper bounds of workqueue_work_duration_seconds, in seconds. */
const BUCKETS = [0.01, 0.1, 1, 10, 100, 1_000, Infinity];

/** Handles the Widgets that have its name as their label `app`. */
export class WidgetController implements Program {
  readonly #base: Controller;
  readonly #context: ProgramContext;
  /** The generation of each object that its watch has told. */
  readonly #told = new Map<string, number>();
  readonly #queue = new Set<string>();
  /** When each worker began, and when it will be done. */
  readonly #busy = new Map<string, { readonly sinceMs: number; readonly untilMs: number }>();
  readonly #requests = new Map<string, number>();
  readonly #done = BUCKETS.map(() => 0);
  #errors = 0;
  #isBlocked = false;
  #startedMs = 0;

  constructor(
    context: ProgramContext,
    private readonly options: WidgetOptions,
  ) {
    const ask = (token: string | undefined, asked: Asked, times?: number): Answer =>
      this.#count(asked.verb === "list" ? "GET" : "PUT", context.ask(token, asked, times));
    this.#context = { ...context, ask, renew: (token, lease) => this.#count("PUT", context.renew(token, lease)) };
    this.#base = new Controller(this.#context, options.base);
  }

  get logged401Ms(): number | undefined {
    return this.#base.logged401Ms;
  }

  set logged401Ms(ms: number | undefined) {
    this.#base.logged401Ms = ms;
  }

  onStart(): void {
    const context = this.#context;
    this.#startedMs = context.nowMs();
    const { fate } = this.options;
    if (fate !== undefined) fate.atMs ??= context.nowMs() + fate.afterMs * context.dice.between(0.7, 1.1);
    this.#base.onStart();
    context.after(TICK_MS * context.dice.next(), () => this.#tick());
  }

  onStop(): number {
    return this.#base.onStop();
  }

  truth(): Truth {
    const truth = this.#base.truth();
    // What it lost shows with its next list, or in its successor; servers that dispute a key do not free its workers.
    const isUnseen = truth.state === "access-gone" && !this.#base.isRefused;
    if (!this.#base.leads || (truth.state !== "works" && truth.state !== "token-split" && !isUnseen)) return truth;
    const cause = this.#stuckBy();
    if (cause !== undefined) return { state: "stuck", cause, healedByRestart: truth.state === "works" };
    const blocked = [...this.#busy.values()].filter(({ untilMs }) => untilMs === Infinity).length;
    if (blocked >= WORKERS) return { state: "stuck", cause: "workers-poisoned", healedByRestart: false };
    return blocked > 0 && truth.state === "works" ? { ...truth, cause: "worker-blocked" } : truth;
  }

  get #tellsFirst(): boolean {
    return this.options.tellsFirst === true;
  }

  #stuckBy(): CauseName | undefined {
    if (this.#isBlocked && !this.#tellsFirst) return "workers-blocked";
    if (this.#isBlocked && this.#busy.size >= WORKERS) return "workers-hang";
    return this.#base.isDeaf ? "watch-silent" : undefined;
  }

  /** Its page of metrics. */
  page(): string {
    const { name, lease } = this.options.base;
    const queue = `{controller="widget",name="widget"}`;
    const sinceMs = Math.min(...[...this.#busy.values()].map(one => one.sinceMs), this.#context.nowMs());
    const buckets = BUCKETS.map((le, at) => {
      const count = this.#done.slice(0, at + 1).reduce((sum, one) => sum + one, 0);
      return `workqueue_work_duration_seconds_bucket{controller="widget",name="widget",le="${le === Infinity ? "+Inf" : le}"} ${count}`;
    });
    // An item that changes while a worker has it comes into the queue afterwards.
    const depth = [...this.#queue].filter(one => !this.#busy.has(one)).length;
    const ofLeader = [
      `controller_runtime_reconcile_errors_total{controller="widget"} ${this.#errors}`,
      `workqueue_depth{controller="widget",name="widget",priority="0"} ${depth}`,
      `controller_runtime_active_workers{controller="widget"} ${this.#busy.size}`,
      `controller_runtime_max_concurrent_reconciles{controller="widget"} ${WORKERS}`,
      `workqueue_longest_running_processor_seconds${queue} ${(this.#context.nowMs() - sinceMs) / 1_000}`,
      ...buckets,
      `workqueue_work_duration_seconds_count${queue} ${this.#done.reduce((sum, one) => sum + one, 0)}`,
    ];
    return [
      `process_start_time_seconds ${this.#startedMs / 1_000}`,
      ...(lease === undefined ? [] : [`leader_election_master_status{name="${name}"} ${Number(this.#base.leads)}`]),
      ...[...this.#requests].map(([labels, count]) => `rest_client_requests_total{${labels}} ${count}`),
      ...(this.#base.leads ? ofLeader : []),
      "",
    ].join("\n");
  }

  #count(method: string, answer: Answer): Answer {
    const labels = `code="${answer === 0 ? "<error>" : answer}",host="10.96.0.1:443",method="${method}"`;
    this.#requests.set(labels, (this.#requests.get(labels) ?? 0) + 1);
    return answer;
  }

  #tick(): void {
    const context = this.#context;
    context.after(TICK_MS, () => this.#tick());
    if (!this.#base.leads) return;
    this.#meetFate();
    const widgets = new Map(context.objects("widgets").map(widget => [widget.metadata.name, widget]));
    if (this.#base.hears) this.#listen(widgets);
    const nowMs = context.nowMs();
    for (const [name, { sinceMs, untilMs }] of this.#busy)
      if (!this.#isBlocked && untilMs <= nowMs) this.#finish(name, widgets.get(name), untilMs - sinceMs);
    for (const name of this.#queue) {
      if (this.#busy.size >= WORKERS) break;
      if (!this.#busy.has(name)) this.#take(name, widgets.get(name), nowMs);
    }
  }

  #meetFate(): void {
    const { fate } = this.options;
    if (fate?.what === undefined || fate.isTaken === true || this.#context.nowMs() < fate.atMs!) return;
    fate.isTaken = true;
    if (fate.what === "deaf") this.#base.isDeaf = true;
    else this.#isBlocked = true;
  }

  #listen(widgets: ReadonlyMap<string, Obj>): void {
    // The last ones first, so that a new process does some work before it meets the poison.
    for (const [name, { metadata }] of [...widgets].reverse()) {
      if (this.#told.get(name) === metadata.generation) continue;
      this.#told.set(name, metadata.generation ?? 0);
      this.#queue.add(name);
    }
  }

  #take(name: string, widget: Obj | undefined, nowMs: number): void {
    this.#queue.delete(name);
    const { takesMs, fate } = this.options;
    if (this.#tellsFirst && widget !== undefined && !isPaused(widget)) this.#write(widget, "Progressing");
    const isPoison = Number(name.slice(name.lastIndexOf("-") + 1)) < (fate?.poisoned ?? 0) && nowMs >= fate!.atMs!;
    const lastsMs = isPoison || this.#isBlocked ? Infinity : this.#context.dice.between(...takesMs);
    this.#busy.set(name, { sinceMs: nowMs, untilMs: nowMs + lastsMs });
  }

  /** A worker is done with an object, which may be gone by then, and writes its status. */
  #finish(name: string, widget: Obj | undefined, tookMs: number): void {
    const context = this.#context;
    const answer = widget === undefined || isPaused(widget) ? 200 : this.#write(widget, "Done");
    this.#busy.delete(name);
    this.#done[BUCKETS.findIndex(le => tookMs <= le * 1_000)]!++;
    if (answer === 200) return;
    this.#errors++;
    context.after(RETRY_MS, () => this.#queue.add(name));
  }

  #write({ metadata: { name, generation }, status }: Obj, phase: string): Answer {
    const next = {
      observedGeneration: this.#told.get(name) ?? generation,
      ...(this.#tellsFirst && { phase }),
    };
    const { observedGeneration, phase: before } = (status ?? {}) as Partial<typeof next>;
    if (observedGeneration === next.observedGeneration && before === next.phase) return 200;
    const answer = this.#context.writeStatus(this.#base.token, "widgets", name, next);
    return this.#count("PUT", answer);
  }
}
