import { arrayOf, isObject, type JsonObject, objectOf, textOf } from "../../../src/core/json";
import { same } from "./objects";
import type { Step } from "./samples";

/** What a server answered. */
export interface Answered {
  readonly code: number;
  readonly body: string;
}

/** Sends a request to a server. */
export type Send = (
  step: Step,
  path: string,
  options: { body: string | undefined; token: string | undefined },
) => Promise<Answered>;

/** Plays requests to one server, and remembers what its answers said. */
export class Player {
  readonly #known = new Map<string, string>();

  constructor(
    private readonly namespace: string,
    private readonly send: Send,
  ) {}

  async play(step: Step): Promise<Answered> {
    const body = step.body === undefined ? undefined : this.#fill(JSON.stringify(step.body));
    const token = step.isLimited === true ? this.#known.get("$token") : undefined;
    const answered = await this.send(step, this.#fill(step.path), { body, token });
    this.#note(objectOf(parsed(answered.body)));
    return { ...answered, body: answered.body.replaceAll(this.namespace, "{ns}") };
  }

  #fill(text: string): string {
    return text
      .replaceAll(
        /\$(?:continue|(?:uid|rv):[A-Za-z]+\/(?:\{ns\}-)?[a-z0-9]+)/g,
        name => this.#known.get(name.replaceAll("{ns}", this.namespace)) ?? name,
      )
      .replaceAll("{ns}", this.namespace);
  }

  #note({ kind, metadata, status }: JsonObject): void {
    const { name, uid, resourceVersion, continue: next } = objectOf(metadata);
    const id = `${textOf(kind) ?? ""}/${textOf(name) ?? ""}`;
    if (textOf(uid) !== undefined)
      this.#known.set(`$uid:${id}`, textOf(uid) ?? "").set(`$rv:${id}`, textOf(resourceVersion) ?? "");
    if (textOf(next) !== undefined) this.#known.set("$continue", encodeURIComponent(textOf(next) ?? ""));
    const token = textOf(objectOf(status)["token"]);
    if (token !== undefined) this.#known.set("$token", token);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What two servers must agree on: the code, and the body without what is different in each run. */
export function essenceOf({ code, body }: Answered, step: Step): unknown {
  if (step.path.includes("watch=true"))
    return {
      code,
      events: linesOf(body, step).map(line => eventOf(parsed(line), step)),
    };
  const value = parsed(body);
  if (step.path.endsWith("/token")) return { code };
  if (step.path.endsWith("accessreviews") && code === 201)
    return { code, allowed: objectOf(objectOf(value)["status"])["allowed"] };
  if (value === undefined) return { code, text: code === 200 && step.path === "/metrics" ? "" : body.trim() };
  return { code, body: plain(value, step) };
}

/** Controllers change their objects at any time, so only the first event counts. */
function linesOf(body: string, step: Step): string[] {
  const lines = body.trim().split("\n").filter(Boolean);
  return CONTROLLED.test(step.path) ? lines.slice(0, 1) : lines;
}

function eventOf(line: unknown, step: Step): unknown {
  const { type, object } = objectOf(line);
  return { type, object: plain(object, step) };
}

/** Fields whose values are of one run only; that they are there is compared. */
const VARIABLE = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "time",
  "continue",
  "kid",
  "n",
  "e",
  "token",
  "expirationTimestamp",
  "lastTransitionTime",
]);

/** Fields that say nothing to a client. */
const IGNORED = new Set(["message", "remainingItemCount"]);

function plain(value: unknown, step: Step): unknown {
  if (Array.isArray(value)) return value.map(one => plain(one, step));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).flatMap(([name, one]): [string, unknown][] => {
    if (one === null || isLeftOut(name, one, { value, step })) return [];
    const kept = SPECIAL[name]?.(one, step) ?? plain(one, step);
    return kept === NOTHING ? [] : [[name, kept]];
  });
  return Object.fromEntries(entries);
}

/** What is not compared. */
function isLeftOut(name: string, one: unknown, { value, step }: { value: JsonObject; step: Step }): boolean {
  if (value["kind"] === "Status" && (name === "message" || name === "metadata")) return true;
  // The controllers of the real cluster write these.
  if (name === "status" && isObject(one) && CONTROLLED.test(step.path)) return true;
  return (
    name === "deployment.kubernetes.io/revision" ||
    IGNORED.has(name) ||
    (name === "managedFields" && UNOWNED.test(step.path))
  );
}

const NOTHING = Symbol("nothing");

type Comparable = (one: unknown, step: Step) => unknown;

/** Fields that are compared in their own way. */
const SPECIAL: Readonly<Record<string, Comparable>> = {
  managedFields: ownersIn,
  keys: one => (Array.isArray(one) ? one.length > 0 : undefined),
  causes: causesOf,
  annotations: (one, step) => {
    const kept = plain(one, step);
    return Object.keys(objectOf(kept)).length === 0 ? NOTHING : kept;
  },
  ...Object.fromEntries(
    [...VARIABLE].map(name => [name, (one: unknown) => (typeof one === "string" ? "*" : undefined)]),
  ),
};

/** Events have two sets of names, of which the real server records those of the writer; the namespace is not created by a request here. */
const UNOWNED = /\/(?:events|namespaces\/\{ns\}$|poddisruptionbudgets\/b2)/;

/** In an order that does not depend on the second of a write. */
function ownersIn(entries: unknown): unknown[] {
  const texts = arrayOf(entries)
    .filter(isOfClient)
    .map(entry => JSON.stringify(owner(entry)));
  return texts.sort().map(text => JSON.parse(text) as unknown);
}

/** Who owns which fields; whether a field that has others is owned itself says nothing to the operator. */
function owner(entry: unknown): unknown {
  const { manager, operation, subresource, fieldsV1 } = objectOf(entry);
  return { manager, operation, subresource, fields: leaves(fieldsV1).sort() };
}

function leaves(fields: unknown, path = ""): string[] {
  const steps = Object.entries(objectOf(fields)).filter(([step]) => step !== "." && step !== "f:lastProbeTime");
  if (steps.length === 0) return path === "" ? [] : [path];
  return steps.flatMap(([step, inner]) => leaves(inner, `${path}/${step}`));
}

/** Which fields are wrong, and how; the real server says some twice. */
function causesOf(causes: unknown): string[] {
  const texts = arrayOf(causes).map(one => {
    const { reason, field } = objectOf(one);
    return `${textOf(reason) ?? ""} ${textOf(field) ?? ""}`;
  });
  return [...new Set(texts)].filter(text => !text.endsWith("<nil>"));
}

/** Kinds whose status a controller writes. */
const CONTROLLED =
  /\/(?:deployments|statefulsets|daemonsets|flowschemas|prioritylevelconfigurations|poddisruptionbudgets)(?:[/?]|$)/;

const CONTROLLERS = ["kube-controller-manager", "api-priority-and-fairness-config-consumer-v1"];

function isOfClient(entry: unknown): boolean {
  return !CONTROLLERS.includes(textOf(objectOf(entry)["manager"]) ?? "");
}

/** The paths at which two values differ, each with both. */
export function differences(a: unknown, b: unknown, path = ""): string[] {
  if (isObject(a) && isObject(b)) {
    const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
    return names.flatMap(name => differences(a[name], b[name], `${path}.${name}`));
  }
  if (Array.isArray(a) && Array.isArray(b)) return listDifferences(a, b, path);
  return same(a, b) ? [] : [said(a, b, path)];
}

function listDifferences(a: readonly unknown[], b: readonly unknown[], path: string): string[] {
  if (isTexts(a) && isTexts(b)) {
    const [less, more] = [a.filter(one => !b.includes(one)), b.filter(one => !a.includes(one))];
    if (less.length + more.length === 0) return [];
    return [`${path}: only real ${less.join(" ")}, only simulated ${more.join(" ")}`];
  }
  if (a.length !== b.length) return [said(a, b, path)];
  return a.flatMap((one, at) => differences(one, b[at], `${path}[${at}]`));
}

function said(a: unknown, b: unknown, path: string): string {
  const shown = (value: unknown): string => (value === undefined ? "none" : JSON.stringify(value));
  return `${path}: real ${shown(a)}, simulated ${shown(b)}`;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every(one => typeof one === "string");
}
