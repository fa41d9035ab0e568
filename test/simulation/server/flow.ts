import { arrayOf, objectOf } from "../../../src/core/json";
import type { Identity } from "./access";
import type { Obj } from "./objects";
import { type Attributes, has, isUrl } from "./rbac";
import type { Store } from "./store";

// API Priority and Fairness: which FlowSchema a request belongs to, and whether its priority level has room.

/** Where a request is counted. */
export interface Flow {
  readonly schema: string;
  readonly level: string;
}

const CATCH_ALL: Flow = { schema: "catch-all", level: "catch-all" };

/** Requests per second that one share of concurrency serves: a request takes some milliseconds. */
const PER_SHARE = 10;

/** Load is counted in windows of this length. */
const WINDOW_MS = 1_000;

interface Window {
  startMs: number;
  count: number;
}

/** Flow control of one API server. */
export class FlowControl {
  readonly #store: Store;
  readonly #known = new Map<string, Flow>();
  readonly #windows = new Map<string, Window>();
  #version = -1;

  constructor(store: Store) {
    this.#store = store;
  }

  flowOf(identity: Identity, attributes: Attributes): Flow {
    const version = this.#store.version("flowschemas");
    if (version !== this.#version) this.#known.clear();
    this.#version = version;
    const { verb, group, resource, subresource, namespace, path } = attributes;
    const id = `${identity.user}|${verb}|${group}|${resource}|${subresource}|${namespace}|${resource === undefined ? path : ""}`;
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const flow = this.#match(identity, attributes);
    this.#known.set(id, flow);
    return flow;
  }

  /** Adds requests to the load of a level; returns how many of them find room. */
  admit({ level }: Flow, count: number, nowMs: number): number {
    const limit = this.#limitOf(level);
    const window = this.#windows.get(level) ?? { startMs: nowMs, count: 0 };
    this.#windows.set(level, window);
    // Requests that are reported together may be of the whole time since the last report.
    const seconds = Math.max(1, (nowMs - window.startMs) / WINDOW_MS);
    if (nowMs - window.startMs >= WINDOW_MS) Object.assign(window, { startMs: nowMs, count: 0 });
    const room = Math.max(0, Math.floor(limit * seconds) - window.count);
    window.count += count;
    return Math.min(count, room);
  }

  #limitOf(level: string): number {
    const spec = objectOf(this.#store.get("prioritylevelconfigurations", undefined, level)?.["spec"]);
    if (spec["type"] === "Exempt") return Infinity;
    const shares = objectOf(spec["limited"])["nominalConcurrencyShares"];
    return PER_SHARE * (typeof shares === "number" ? shares : 30);
  }

  #match(identity: Identity, attributes: Attributes): Flow {
    const schemas = this.#store.list("flowschemas").map(object => ({ object, precedence: precedenceOf(object) }));
    schemas.sort((a, b) => a.precedence - b.precedence);
    const found = schemas.find(({ object }) => rulesOf(object).some(rule => isMatch(rule, identity, attributes)));
    if (found === undefined) return CATCH_ALL;
    return { schema: found.object.metadata.name, level: found.object.spec?.priorityLevelConfiguration?.name ?? "" };
  }
}

interface FlowRule {
  readonly subjects?: readonly FlowSubject[];
  readonly resourceRules?: readonly ResourceRule[];
  readonly nonResourceRules?: readonly {
    readonly verbs: readonly string[];
    readonly nonResourceURLs: readonly string[];
  }[];
}

interface FlowSubject {
  readonly kind: string;
  readonly user?: { readonly name: string };
  readonly group?: { readonly name: string };
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
}

interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly clusterScope?: boolean;
  readonly namespaces?: readonly string[];
}

function precedenceOf({ spec }: Obj): number {
  return Number(objectOf(spec)["matchingPrecedence"] ?? 1_000);
}

function rulesOf({ spec }: Obj): readonly FlowRule[] {
  return arrayOf(objectOf(spec)["rules"]) as readonly FlowRule[];
}

function isMatch(
  { subjects = [], resourceRules = [], nonResourceRules = [] }: FlowRule,
  identity: Identity,
  attributes: Attributes,
): boolean {
  if (!subjects.some(subject => isSubject(subject, identity))) return false;
  const { resource, path = "", verb } = attributes;
  if (resource !== undefined) return resourceRules.some(rule => isResource(rule, attributes));
  return nonResourceRules.some(
    ({ verbs, nonResourceURLs }) => has(verbs, verb) && nonResourceURLs.some(url => isUrl(url, path)),
  );
}

function isSubject({ kind, user, group, serviceAccount }: FlowSubject, identity: Identity): boolean {
  if (kind === "User") return has([user?.name ?? ""], identity.user);
  if (kind === "Group") return identity.groups.some(one => has([group?.name ?? ""], one));
  const { namespace = "", name = "" } = serviceAccount ?? {};
  if (name !== "*") return identity.user === `system:serviceaccount:${namespace}:${name}`;
  return identity.groups.includes(`system:serviceaccounts:${namespace}`);
}

function isResource(
  rule: ResourceRule,
  { verb, group = "", resource = "", subresource, namespace }: Attributes,
): boolean {
  const full = subresource === undefined ? resource : `${resource}/${subresource}`;
  const isPlace = namespace === undefined ? rule.clusterScope === true : has(rule.namespaces ?? [], namespace);
  return isPlace && has(rule.verbs, verb) && has(rule.apiGroups, group) && has(rule.resources, full);
}
