import { askedMs, type Clock } from "../../core/time";
import { TransientError } from "../../core/errors";
import { arrayOf, numberOf, objectOf, textOf } from "../../core/json";
import { KINDS } from "../../core/kinds";
import type { Api } from "../http/api";
import type { Instance } from "../http/connection";
import { callOf } from "../http/resources";

// The API servers of a cluster, each at its own address.

/** Every API server registers its address in this EndpointSlice (kubernetes/kubernetes pkg/controlplane/reconcilers). */
const PLACE = { namespace: "default", name: "kubernetes" };

const DEADLINE_MS = 5_000;

/** The ready ones; empty if none registers itself, as in some managed control planes. */
export function instancesIn(slice: unknown): Instance[] {
  const { ports, endpoints } = objectOf(slice);
  const https = arrayOf(ports)
    .map(objectOf)
    .find(({ name }) => name === "https");
  const port = numberOf(https?.["port"]);
  if (port === undefined) return [];
  // Unknown readiness counts as ready (discovery.k8s.io/v1 EndpointConditions).
  const ready = arrayOf(endpoints)
    .map(objectOf)
    .filter(endpoint => objectOf(endpoint["conditions"])["ready"] !== false);
  // All addresses of an endpoint lead to the same server.
  const addresses = ready.flatMap(endpoint => textOf(arrayOf(endpoint["addresses"])[0]) || []);
  return [...new Set(addresses)].map(address => ({ address, port }));
}

/** If no instance is reachable at its own address, the next attempt follows after this time, in milliseconds. */
const RETRY_MS = 60_000;

/** Most instances that are asked at a time, more than any cluster runs: a page has megabytes, and an EndpointSlice may hold anything. */
const MAX_INSTANCES = 32;

/** So long, in milliseconds, readings that change nothing take the same servers: one that comes is noticed later, but one that goes at once. */
export const INSTANCES_AGE_MS = 60_000;

/** Asks each API server about one thing at its own address, which a process outside of the cluster usually cannot reach. */
export class EachInstance {
  readonly #api: Pick<Api, "jsonOrNull">;
  readonly #clock: Clock;
  readonly #list: { known?: { readonly atMs: number; readonly ready: readonly Instance[] } | undefined };
  #fromMs = -Infinity;
  /** By address: no request before this time, since the server has asked for that (Retry-After). */
  readonly #heldMs = new Map<string, number>();

  /** Shares the list with another one, but no failures: a server may refuse one thing, and tell the other. */
  constructor({ api, clock }: { readonly api: Pick<Api, "jsonOrNull">; readonly clock: Clock }, other?: EachInstance) {
    this.#api = api;
    this.#clock = clock;
    this.#list = other === undefined ? {} : other.#list;
  }

  /** Returns the ready ones, as read within this time. @throws ForbiddenError without the permission `get endpointslices`, or another error of core */
  async ready(maxAgeMs: number): Promise<readonly Instance[]> {
    const [atMs, { known }] = [this.#clock.monotonicMs(), this.#list];
    if (known !== undefined && atMs - known.atMs < maxAgeMs) return known.ready;
    const call = { ...callOf("get", KINDS.EndpointSlice, PLACE), deadlineMs: DEADLINE_MS };
    const ready = instancesIn(await this.#api.jsonOrNull(call));
    this.#list.known = { atMs, ready };
    return ready;
  }

  /**
   * Returns the answers of those that could be asked. If there is only one, or if none was reachable lately, asks the one at the kubeconfig's address,
   * without an instance.
   *
   * @throws what `ask` throws for that one
   */
  async ask<T>(instances: readonly Instance[], ask: (instance?: Instance) => Promise<T>): Promise<T[]> {
    if (instances.length <= 1 || this.#clock.monotonicMs() < this.#fromMs) return [await ask()];
    const asked = await Promise.allSettled(
      instances.slice(0, MAX_INSTANCES).map(instance => this.#askOne(instance, ask)),
    );
    const answers = asked.flatMap(one => (one.status === "fulfilled" ? [one.value] : []));
    // Those that did not answer may be gone.
    if (answers.length < instances.length) this.#list.known = undefined;
    if (answers.length > 0) return answers;
    this.#fromMs = this.#clock.monotonicMs() + RETRY_MS;
    return [await ask()];
  }

  async #askOne<T>(instance: Instance, ask: (instance: Instance) => Promise<T>): Promise<T> {
    const heldMs = this.#heldMs.get(instance.address) ?? -Infinity;
    if (this.#clock.monotonicMs() < heldMs) throw new TransientError("the API server has asked to wait");
    return ask(instance).catch((error: unknown) => {
      this.#heldMs.set(instance.address, this.#clock.monotonicMs() + askedMs(error));
      throw error;
    });
  }
}
