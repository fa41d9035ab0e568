import { ForbiddenError, GoneError } from "../../core/errors";
import { arrayOf, type JsonObject, objectOf, textOf } from "../../core/json";
import { apiVersionOf, type Kind, KINDS } from "../../core/kinds";
import { guessResource, type KindWriters, resourceIn } from "../../core/progress";
import { type Clock, pause } from "../../core/time";
import { isFollowable, statusWriters } from "../../evidence/progress/follow";
import { isWellKnown } from "../../evidence/progress/well-known";
import type { Api } from "../http/api";
import { describeCall, LARGE_PAGES, listPages, METADATA_ONLY, pathOf } from "../http/resources";
import { Rounds } from "./rounds";

/** Time between two readings, in milliseconds, and after one that failed: a suggestion is not urgent. */
const INTERVAL_MS = 3_600_000;
const RETRY_MS = 600_000;

/** Time between two requests, in milliseconds. */
const PAUSE_MS = 1_000;

/** Most kinds that are read, by the order of their groups. */
const MAX_KINDS = 50;

/** Objects of a kind that are read: controllers write the status of each alike. */
const OBJECTS = 20;

/** Groups of which the operator reads kinds for other reasons; their controllers are parts of Kubernetes. */
const BUILT_IN: ReadonlySet<string> = new Set(Object.values(KINDS).map(({ group }) => group));

/** What the operator may list, as a rule of a SelfSubjectRulesReview. */
type Rule = Readonly<Record<"apiGroups" | "resources", readonly unknown[]>>;

/** A kind that an entry of `stallDetection.progress` may name. */
interface FollowableKind {
  readonly resource: Kind;
  readonly kind: string;
  readonly hasStatus: boolean;
}

interface Known {
  /** Absent: nothing was read yet. */
  found?: readonly KindWriters[];
}

/**
 * Reads who writes the status of the kinds that the operator may list, as ClusterRoles for `stallDetection.progress` allow it: one small page of
 * metadata per kind and hour. Without such a right, one review of its own rights. Ends by itself when it is not asked any more.
 */
export class KindWritersReadings {
  readonly #api: Pick<Api, "json">;
  readonly #clock: Clock;
  readonly #rounds: Rounds<Known>;

  constructor({ api, clock }: { readonly api: Pick<Api, "json">; readonly clock: Clock }) {
    this.#api = api;
    this.#clock = clock;
    this.#rounds = new Rounds(clock, known => this.#read(known));
  }

  /** What was read last; undefined: nothing yet. Asking begins to read. */
  known(): readonly KindWriters[] | undefined {
    return this.#rounds.want("", () => ({})).known.found;
  }

  /** What cannot be read now stays as it was known. */
  async #read(known: Known): Promise<number> {
    try {
      known.found = await this.#writers(known.found ?? []);
      return INTERVAL_MS;
    } catch (error) {
      if (error instanceof ForbiddenError || error instanceof GoneError) known.found = [];
      return RETRY_MS;
    }
  }

  async #writers(before: readonly KindWriters[]): Promise<KindWriters[]> {
    const found: KindWriters[] = [];
    for (const one of await this.#kinds()) {
      const { resource, kind } = one;
      const apiVersion = apiVersionOf(resource);
      await pause(this.#clock, PAUSE_MS);
      try {
        found.push({ apiVersion, kind, writers: await this.#writersOf(one) });
      } catch (error) {
        if (error instanceof ForbiddenError || error instanceof GoneError) continue;
        found.push(...before.filter(old => old.apiVersion === apiVersion && old.kind === kind));
      }
    }
    return found;
  }

  async #writersOf({ resource, kind, hasStatus }: FollowableKind): Promise<string[]> {
    const list = { resource, limit: OBJECTS, maxBytes: LARGE_PAGES.maxBytes, accept: METADATA_ONLY };
    const page = await listPages(this.#api, list, { onUnread: () => undefined }).next();
    const items = page.value?.items ?? [];
    const followable = items.filter(item => isWellKnown(resource.group, kind) || isFollowable(item, hasStatus));
    return [...new Set(followable.flatMap(item => statusWriters(item, hasStatus)))];
  }

  /** The kinds that the operator may list, of the preferred version of their group. */
  async #kinds(): Promise<FollowableKind[]> {
    const rules = await this.#rules();
    if (rules.length === 0) return [];
    const { groups } = await this.#api.json<JsonObject>({ what: "get the groups of the API", path: "/apis" });
    const found: FollowableKind[] = [];
    for (const raw of arrayOf(groups)) {
      const { name, preferredVersion } = objectOf(raw);
      const [group, version] = [textOf(name) ?? "", textOf(objectOf(preferredVersion)["version"]) ?? ""];
      const own = rules.filter(({ apiGroups }) => isIn(apiGroups, group));
      if (found.length >= MAX_KINDS || own.length === 0 || BUILT_IN.has(group) || !group.includes(".")) continue;
      await pause(this.#clock, PAUSE_MS);
      found.push(...(await this.#kindsIn(group, version, own)));
    }
    return found.slice(0, MAX_KINDS);
  }

  async #kindsIn(group: string, version: string, rules: readonly Rule[]): Promise<FollowableKind[]> {
    const path = `/apis/${encodeURIComponent(group)}/${encodeURIComponent(version)}`;
    const document = await this.#api.json<JsonObject>({ what: `get the resources of ${group}`, path });
    const kinds = new Set(arrayOf(document["resources"]).flatMap(one => textOf(objectOf(one)["kind"]) ?? []));
    return [...kinds].flatMap(kind => {
      const { plural, hasStatus } = resourceIn(document, kind) ?? {};
      const isAllowed = plural !== undefined && rules.some(({ resources }) => isIn(resources, plural));
      if (!isAllowed || plural !== guessResource(kind) || hasStatus === undefined) return [];
      return [{ resource: { group, version, plural }, kind, hasStatus }];
    });
  }

  /** Rules for groups that are not Kubernetes' own, as far as they allow to list all objects. */
  async #rules(): Promise<Rule[]> {
    const resource = { ...KINDS.SelfSubjectAccessReview, plural: "selfsubjectrulesreviews" };
    const review = await this.#api.json<JsonObject>({
      ...{ what: describeCall("create", resource), method: "POST", path: pathOf(resource) },
      // Of a namespace, and of the whole cluster: what only the namespace allows is refused later.
      body: { apiVersion: apiVersionOf(resource), kind: "SelfSubjectRulesReview", spec: { namespace: "default" } },
    });
    const rules = arrayOf(objectOf(review["status"])["resourceRules"]).map(objectOf);
    return rules
      .filter(({ verbs, resourceNames }) => isIn(arrayOf(verbs), "list") && arrayOf(resourceNames).length === 0)
      .map(({ apiGroups, resources }) => ({ apiGroups: arrayOf(apiGroups), resources: arrayOf(resources) }))
      .filter(({ apiGroups }) => apiGroups.some(group => !BUILT_IN.has(textOf(group) ?? "")));
  }
}

function isIn(list: readonly unknown[], name: string): boolean {
  return list.includes(name) || list.includes("*");
}
