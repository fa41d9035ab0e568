import type { Identity } from "./access";
import { evict } from "./eviction";
import { apiVersionOf, BUILT_IN, kindOfDefinition } from "./kinds";
import { readLog } from "./logs";
import { type Obj, Refusal } from "./objects";
import { Reads } from "./reads";
import { type Ask, isServedGroup, servedKind } from "./request";
import { review, reviewKind } from "./reviews";
import { type Call, header, type Served, type World } from "./serve";
import type { Store } from "./store";
import { Writes } from "./writes";

/** A request that is authenticated and authorized. */
export interface Allowed {
  readonly ask: Ask;
  readonly identity: Identity;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly server: number;
  readonly staleMs: number;
}

/** The group is served, and not this resource of it. */
function unknownResource(): never {
  throw new Refusal(404, "NotFound", "the server could not find the requested resource", {});
}

const NOT_FOUND: Served = { code: 404, body: "404 page not found\n", contentType: "text/plain; charset=utf-8" };

/** From requests to verbs. */
export class Dispatch {
  readonly #world: World;
  readonly #reads: Reads;
  readonly #writes: Writes;

  constructor(world: World) {
    this.#world = world;
    this.#reads = new Reads(world);
    this.#writes = new Writes(world);
  }

  /** The call of a kind that is served; undefined for anything else. */
  callOf(allowed: Allowed): Call | undefined {
    const { ask } = allowed;
    const info = servedKind(ask, this.#world.store);
    if (info === undefined) return undefined;
    const namespace = info.isNamespaced ? ask.namespace : undefined;
    const isPlaced = info.isNamespaced || ask.namespace === undefined || info.plural === "namespaces";
    return isPlaced ? { ...allowed, info, namespace } : undefined;
  }

  /** Serves everything but watches. @throws Refusal */
  serve(allowed: Allowed): Served {
    const { ask } = allowed;
    const kind = reviewKind(ask);
    if (kind !== undefined) return ask.verb === "create" ? review(this.#world, kind, allowed) : notAllowed();
    const call = this.callOf(allowed);
    if (call === undefined) return isServedGroup(ask, this.#world.store) ? unknownResource() : NOT_FOUND;
    return ask.subresource === undefined ? this.#main(call) : this.#sub(call, ask.subresource);
  }

  #main(call: Call): Served {
    const { info, ask, namespace } = call;
    const isEverywhere = info.isNamespaced && namespace === undefined;
    if (isEverywhere && ask.name !== undefined) return NOT_FOUND;
    const isOfOne = ["get", "update", "patch", "delete"].includes(ask.verb);
    if ((isEverywhere && ask.verb !== "list") || isOfOne !== (ask.name !== undefined)) return notAllowed();
    const [reads, writes] = [this.#reads, this.#writes];
    const verbs: Readonly<Record<string, () => Served>> = {
      get: () => reads.get(call),
      list: () => reads.list(call),
      create: () => writes.create(call),
      update: () => writes.update(call),
      patch: () => writes.patch(call),
      delete: () => writes.delete(call),
    };
    return (verbs[ask.verb] ?? notAllowed)();
  }

  #sub(call: Call, subresource: string): Served {
    const { info, ask } = call;
    if (!info.subresources.includes(subresource)) return NOT_FOUND;
    switch (`${subresource} ${ask.verb}`) {
      case "log get":
        return readLog(this.#world, call);
      case "eviction create":
        return evict(this.#world, call);
      case "binding create":
        return this.#bind(call);
      case "token create":
        return this.#issue(call);
      case "status get":
        return this.#reads.get(call);
      case "status update":
        return this.#writes.update(call);
      case "status patch":
        return this.#writes.patch(call);
      default:
        return notAllowed();
    }
  }

  /** create pods/binding: a scheduler's work. */
  #bind({ ask, namespace, body = "{}" }: Call): Served {
    const { target } = JSON.parse(body) as { target: { name: string } };
    const before = this.#world.store.get("pods", namespace, ask.name ?? "");
    // A scheduler's decisions have no owner.
    const after = this.#world.store.as({ manager: "scheduler", operation: "Apply" }, () =>
      this.#world.store.update("pods", namespace, ask.name ?? "", draft => {
        (draft["spec"] as Record<string, unknown>)["nodeName"] = target.name;
      }),
    );
    return {
      code: 201,
      body: JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 }),
      before,
      after,
    };
  }

  /** create serviceaccounts/token. */
  #issue(call: Call): Served {
    const { ask, namespace = "", body = "{}" } = call;
    const account: Obj | undefined = this.#world.store.get("serviceaccounts", namespace, ask.name ?? "");
    if (account === undefined) return this.#reads.get(call);
    const spec = (JSON.parse(body) as { spec?: { expirationSeconds?: number; audiences?: string[] } }).spec ?? {};
    const [audience] = spec.audiences ?? [];
    const lifeSeconds = spec.expirationSeconds ?? 3_600;
    const token = this.#world.access.issueToken({
      namespace,
      serviceAccount: ask.name ?? "",
      lifeSeconds,
      ...(audience !== undefined && { audience }),
    });
    const answer = {
      kind: "TokenRequest",
      apiVersion: "authentication.k8s.io/v1",
      metadata: { name: ask.name, namespace },
      spec,
      status: { token },
    };
    return { code: 201, body: JSON.stringify(answer) };
  }
}

function notAllowed(): never {
  throw new Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});
}

/** What is for no resource: keys, metrics, probes and the version. */
export function servePath({ ask, headers, server }: Allowed, { access, store }: World, metrics: () => string): Served {
  switch (ask.path) {
    case "/metrics":
      return {
        code: 200,
        body: metrics(),
        contentType: "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
      };
    case "/openid/v1/jwks":
      return serveKeys(access.keysOf(server), header(headers, "Accept") ?? "*/*");
    case "/healthz":
    case "/livez":
    case "/readyz":
      return { code: 200, body: "ok", contentType: "text/plain; charset=utf-8" };
    case "/version":
      return { code: 200, body: JSON.stringify({ major: "1", minor: "34", gitVersion: "v1.34.0" }) };
    default:
      return servedResources(ask.path, store) ?? NOT_FOUND;
  }
}

const VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"];

/** The discovery document of a group and version. */
function servedResources(path: string, store: Store): Served | undefined {
  const groupVersion = path.replace(/^\/apis\//, "");
  const custom = store.list("customresourcedefinitions").flatMap(one => kindOfDefinition(one) ?? []);
  const kinds = [...BUILT_IN.values(), ...custom].filter(info => apiVersionOf(info) === groupVersion);
  if (kinds.length === 0) return undefined;
  const resources = kinds.flatMap(({ plural, kind, isNamespaced: namespaced, subresources }) => [
    ...[{ name: plural, singularName: kind.toLowerCase(), namespaced, kind, verbs: VERBS }],
    ...subresources.map(name => ({ name: `${plural}/${name}`, singularName: "", namespaced, kind, verbs: ["get"] })),
  ]);
  const list = { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources };
  return { code: 200, body: JSON.stringify(list) };
}

function serveKeys(keys: readonly string[], accept: string): Served {
  const isAccepted = ["application/jwk-set+json", "*/*", "application/*"].some(type => accept.includes(type));
  if (!isAccepted)
    throw new Refusal(
      406,
      "NotAcceptable",
      "406: Not Acceptable\n\nAvailable representations: application/jwk-set+json",
      {},
    );
  const set = { keys: keys.map(kid => ({ use: "sig", kty: "RSA", kid, alg: "RS256", n: "AQAB", e: "AQAB" })) };
  return { code: 200, body: JSON.stringify(set), contentType: "application/jwk-set+json" };
}
