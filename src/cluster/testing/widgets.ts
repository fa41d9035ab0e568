import { TransientError } from "../../core/errors";
import type { JsonObject } from "../../core/json";
import type { KindQuestion } from "../../core/progress";
import { FakeClock } from "../../core/testing/fake-clock";
import type { ApiRequest } from "../http/api";
import { KindReadings } from "../measure/kind-readings";

interface Widget {
  generation: number;
  observed: number;
  version: number;
  /** When the status was written last: seconds after midnight. */
  written: number;
  /** The same of the spec. */
  edited: number;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  deletedAt?: string;
}

const FRESH: Widget = { generation: 1, observed: 1, version: 1, written: 1, edited: 0, labels: {}, annotations: {} };

/** An API server that serves three Widgets, those who write them, and readings of them. */
export class Widgets {
  readonly clock = new FakeClock("2025-01-01T12:00:00Z");
  requests: string[] = [];
  failure: ((path: string) => Error | undefined) | undefined;
  /** Requests that end with a timeout, and how late. */
  hang: (path: string) => boolean = () => false;
  hangMs = 30_000;
  /** Time that a list takes. */
  slowMs = 0;
  plural = "widgets";
  readonly widgets: Map<string, Widget>;
  readonly readings: KindReadings;

  constructor() {
    this.widgets = new Map(["blue", "green", "red"].map(name => [name, FRESH]));
    const json = async <T>(request: ApiRequest): Promise<T> => {
      if (this.hang(request.path)) {
        this.requests.push(request.path);
        await new Promise<void>(resolve => this.clock.after(this.hangMs, resolve));
        throw new TransientError(`${request.what}: timed out`);
      }
      return this.#answer(request) as T;
    };
    this.readings = new KindReadings({ api: { json, jsonOrNull: json }, clock: this.clock });
  }

  change(name: string, over: Partial<Widget>): void {
    const before = this.#widget(name);
    this.widgets.set(name, { ...before, ...over, version: before.version + 1 });
  }

  /** Handles a change as a controller does. */
  handle(name: string): void {
    const { generation, written } = this.#widget(name);
    this.change(name, { observed: generation, written: written + 1 });
  }

  edit(name: string): void {
    this.change(name, { generation: this.#widget(name).generation + 1 });
  }

  /** Lets minutes pass, with one question in each. */
  async minutes(count: number, question = ask()) {
    for (let minute = 0; minute < count; minute++) {
      await this.readings.kind(question);
      await this.clock.run(60_000);
    }
    return this.readings.kind(question);
  }

  #widget(name: string): Widget {
    return this.widgets.get(name) ?? FRESH;
  }

  #answer({ path, accept = "" }: ApiRequest): JsonObject | null {
    const isWhole = !accept.includes("PartialObjectMetadata");
    this.requests.push(`${path}${isWhole ? "" : " as metadata"}`);
    const error = this.failure?.(path);
    if (error !== undefined) throw error;
    const names = [this.plural, `${this.plural}/status`];
    if (path.endsWith("/v1")) return { resources: names.map(name => ({ name, kind: "Widget" })) };
    if (path.endsWith("/v2")) return null;
    return this.#objects(path, isWhole);
  }

  #objects(path: string, isWhole: boolean): JsonObject | null {
    const [, one] = /widgets\/(.+)$/.exec(path) ?? [];
    const found = one === undefined ? undefined : this.widgets.get(one);
    if (one !== undefined) return found === undefined ? null : raw(one, found, true);
    this.clock.freeze(this.slowMs);
    return { metadata: {}, items: Array.from(this.widgets, ([name, widget]) => raw(name, widget, isWhole)) };
  }
}

function at(seconds: number): string {
  return new Date(Date.UTC(2025, 0, 1, 0, 0, seconds)).toISOString();
}

function raw(
  name: string,
  { generation, observed, version, written, edited, ...rest }: Widget,
  isWhole: boolean,
): JsonObject {
  const managedFields = [
    { manager: "kubectl", operation: "Apply", time: at(edited), fieldsV1: { "f:spec": {} } },
    { manager: "web", operation: "Update", time: at(written), subresource: "status", fieldsV1: {} },
  ];
  const { labels, annotations, deletedAt: deletionTimestamp } = rest;
  const metadata = {
    ...{ namespace: "shop", name, uid: `u-${name}`, resourceVersion: `${version}`, generation, managedFields },
    ...{ labels, annotations, finalizers: ["example.com/clean-up"] },
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  };
  return isWhole ? { metadata, status: { observedGeneration: observed } } : { metadata };
}

/** Which Widgets are due, by their generation. */
export function ask(over: Partial<KindQuestion> = {}): KindQuestion {
  return {
    ...{ apiVersion: "example.com/v1", kind: "Widget", due: "by generation", id: "default" },
    selects: ({ labels }) => labels["class"] !== "other",
    workOf: ({ metadata, status }) => {
      const { generation } = metadata as { generation: number };
      return generation > (status as { observedGeneration: number }).observedGeneration ? "due" : "done";
    },
    ...over,
  };
}
