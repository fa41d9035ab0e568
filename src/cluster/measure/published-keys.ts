import type { Clock } from "../../core/time";
import { publicMessage, TransientError } from "../../core/errors";
import { arrayOf, objectOf, textOf } from "../../core/json";
import type { Log } from "../../core/ports";
import type { KeyMemory } from "../../core/signing-keys";
import type { Api } from "../http/api";
import type { Instance } from "../http/connection";
import { type EachInstance, INSTANCES_AGE_MS } from "./instances";

/** Public keys of the ServiceAccount token issuer, as OpenID Connect discovery publishes them (KEP-1393). */
const PATH = "/openid/v1/jwks";
const WHAT = `get ${PATH}`;

/** API servers answer 406 to a request for plain JSON. */
const ACCEPT = "application/jwk-set+json";

const DEADLINE_MS = 5_000;

/** Most keys of one API server. A rotation has two. */
const MAX_KEYS = 16;

/** While not all API servers can be read, one that lacked a key may still refuse tokens, for so long in milliseconds. */
const LACKING_MS = 300_000;

export interface PublishedKeysContext {
  readonly api: Pick<Api, "json">;
  readonly clock: Clock;
  readonly memory: KeyMemory;
  readonly log?: Pick<Log, "warn"> | undefined;
  readonly each: EachInstance;
}

/**
 * Reads which keys the API servers accept, and remembers them. During a rollout the servers differ: a key counts as present while any of
 * them publishes it. If only some can be read, such as from outside the cluster, nothing is learned. Where there is only one, or none registers itself, the
 * one at the kubeconfig's address counts.
 */
export class PublishedKeys {
  readonly #context: PublishedKeysContext;
  #triedMs = -Infinity;
  #reading: Promise<void> | undefined;
  #lacking: { readonly address: string; readonly atMs: number } | undefined;
  /** The failure that was logged; undefined after a success. */
  #logged: string | undefined;

  constructor(context: PublishedKeysContext) {
    this.#context = context;
  }

  /** The address of an API server that lacked a key that another one published, as was found lately; undefined: none, or not known. */
  get lacking(): string | undefined {
    const { address, atMs = -Infinity } = this.#lacking ?? {};
    return this.#context.clock.monotonicMs() - atMs < LACKING_MS ? address : undefined;
  }

  /** Reads the keys again if the last attempt is older than this. Never throws. */
  refresh(maxAgeMs: number): Promise<void> {
    if (this.#reading !== undefined) return this.#reading;
    if (this.#context.clock.monotonicMs() - this.#triedMs < maxAgeMs) return Promise.resolve();
    this.#reading = this.#read()
      .then(() => (this.#logged = undefined))
      .catch((error: unknown) => this.#failed(publicMessage(error)))
      .finally(() => {
        this.#triedMs = this.#context.clock.monotonicMs();
        this.#reading = undefined;
      });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const { clock, memory, each } = this.#context;
    // A key may come, and sign tokens, after a server has answered without it.
    const startedMs = clock.now().getTime();
    const ids = await this.#ids(await each.ready(INSTANCES_AGE_MS));
    memory.take(ids, startedMs);
  }

  #failed(error: string): void {
    if (error === this.#logged) return;
    this.#logged = error;
    const message = "the keys of ServiceAccount tokens cannot be read, so a rotation of them is not proven";
    this.#context.log?.warn({ error }, message);
  }

  async #ids(instances: readonly Instance[]): Promise<string[]> {
    const read = await this.#context.each.ask(instances, async instance => ({
      address: instance?.address,
      ids: await this.#idsAt(instance),
    }));
    const all = read.flatMap(({ ids }) => ids);
    const isEach = read.length >= instances.length;
    const address = read.find(({ ids }) => all.some(id => !ids.includes(id)))?.address;
    if (address !== undefined) this.#lacking = { address, atMs: this.#context.clock.monotonicMs() };
    else if (isEach) this.#lacking = undefined;
    if (!isEach) throw new TransientError(`${WHAT}: expected all API servers, got some`);
    return all;
  }

  async #idsAt(instance?: Instance): Promise<string[]> {
    // Behind one address there may be several servers: a kept connection would always reach the same one.
    const place = instance === undefined ? { isFresh: true } : { instance };
    return keyIds(
      await this.#context.api.json({ what: WHAT, path: PATH, accept: ACCEPT, deadlineMs: DEADLINE_MS, ...place }),
    );
  }
}

/** Returns the ids of a JSON Web Key Set. @throws TransientError for anything else */
export function keyIds(set: unknown): string[] {
  const keys = arrayOf(objectOf(set)["keys"]);
  const ids = keys.flatMap(key => textOf(objectOf(key)["kid"]) ?? []);
  if (ids.length === 0 || ids.length !== keys.length || ids.length > MAX_KEYS)
    throw new TransientError(
      `${WHAT}: expected 1 to ${MAX_KEYS} keys with ids, got ${ids.length} ids of ${keys.length}`,
    );
  return ids;
}
