import { evict } from "./eviction";
import { apiVersionOf, BUILT_IN, kindOfDefinition } from "./kinds";
import { readLog } from "./logs";
import { Refusal } from "./objects";
import { Reads } from "./reads";
import { servedKind } from "./request";
import { review, reviewKind } from "./reviews";
import type { Allowed, Call, Served, World } from "./serve";
import type { Store } from "./store";
import { Writes } from "./writes";

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
    if (kind !== undefined) return review(this.#world, kind, allowed);
    const call = this.callOf(allowed);
    if (call === undefined) throw new Refusal(404, "NotFound", "the server could not find the requested resource", {});
    return ask.subresource === undefined ? this.#main(call) : this.#sub(call, ask.subresource);
  }

  #main(call: Call): Served {
    const [reads, writes] = [this.#reads, this.#writes];
    const verbs: Readonly<Record<string, () => Served>> = {
      get: () => reads.get(call),
      list: () => reads.list(call),
      create: () => writes.create(call),
      update: () => writes.update(call),
      patch: () => writes.patch(call),
      delete: () => writes.delete(call),
    };
    return (verbs[call.ask.verb] ?? (() => unknown(call)))();
  }

  #sub(call: Call, subresource: string): Served {
    switch (`${subresource} ${call.ask.verb}`) {
      case "log get":
        return readLog(this.#world, call);
      case "eviction create":
        return evict(this.#world, call);
      case "token create":
        return this.#issue(call);
      case "status update":
        return this.#writes.update(call);
      // A kubelet writes so.
      case "status patch":
        return this.#writes.patch(call);
      default:
        return unknown(call);
    }
  }

  /** create serviceaccounts/token. */
  #issue(call: Call): Served {
    const { ask, namespace = "", body = "{}" } = call;
    const { name: serviceAccount = "" } = ask;
    if (this.#world.store.get("serviceaccounts", namespace, serviceAccount) === undefined) return this.#reads.get(call);
    const { spec } = JSON.parse(body) as { spec: { expirationSeconds: number } };
    const lifeSeconds = spec.expirationSeconds;
    const token = this.#world.access.issueToken({ namespace, serviceAccount, lifeSeconds });
    return { code: 201, body: JSON.stringify({ kind: "TokenRequest", spec, status: { token } }) };
  }
}

/** The servers answer what the operator asks, and nothing else: to guess an answer could hide what a real server refuses. */
function unknown({ ask: { method, path } }: Call): never {
  throw new Error(`expected a request that the simulated API servers know, got ${method} ${path}`);
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
      return serveKeys(access.keysOf(server), headers["Accept"] ?? "");
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
  if (!accept.includes("application/jwk-set+json"))
    throw new Refusal(
      406,
      "NotAcceptable",
      "406: Not Acceptable\n\nAvailable representations: application/jwk-set+json",
    );
  const set = { keys: keys.map(kid => ({ use: "sig", kty: "RSA", kid, alg: "RS256", n: "AQAB", e: "AQAB" })) };
  return { code: 200, body: JSON.stringify(set), contentType: "application/jwk-set+json" };
}
