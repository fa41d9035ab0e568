import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch } from "../bench/scale/launch";
import { createNamespaces, createObjects, createWorkloads } from "../bench/scale/population";
import { HEALTHY } from "../bench/scale/scene";
import { measureSteady, type Steady, untilQuiet } from "../bench/scale/steady";
import { World } from "../bench/scale/world";
import { ownLabName } from "./suite-lab";

// The short version of `npm run bench -- scale`. That one measures durations, processor time and memory as well; this one counts requests only.

const POPULATION = { pods: 100, objects: 10, namespaces: 5 };
const NODES = 5;

/** Longer than the longest interval between two reads of a healthy log. */
const SECONDS = 35;
/** The Events of so few objects are written within a second. */
const QUIET_MS = 5_000;

/** A first pass reads live, so the watches of workloads begin with the second pass of each object: the full pass at the latest. */
const FULL_PASS_MS = 70_000;

/** The most requests per minute of each verb and resource. What is not here must not happen. */
const MOST_PER_MINUTE: Readonly<Record<string, number>> = {
  // 100 logs, each every 30 s. They were all read at the start, so that a measurement may have more than their share.
  "get pods/log": 300,
  // Caches answer. One of each may be left over from the start.
  "get controllerresiliences": 4,
  "get deployments": 4,
  "get serviceaccounts": 4,
  "get namespaces": 4,
  "update leases": 40,
  // Whether a signing key is new, once a minute.
  "get /openid/v1/jwks": 4,
  "get endpointslices": 6,
  // The counters of the only API server, which the world registers: every 10 s, or more rarely if its page is large.
  "get /metrics": 6,
};

const silent = (): void => undefined;
let world: World | undefined;
let steady: Steady;

beforeAll(async () => {
  world = await World.up({ name: ownLabName("scale"), nodes: NODES, print: silent });
  await createNamespaces(world, POPULATION.namespaces);
  await createWorkloads(world, POPULATION);
  await createObjects(world, POPULATION);
  const { operator } = await launch(world, HEALTHY);
  await untilQuiet(world, QUIET_MS);
  await sleep(FULL_PASS_MS);
  steady = await measureSteady(world, operator, SECONDS);
  // The first run on a machine builds kwok.
}, 900_000);

afterAll(() => world?.down());

describe(`the operator beside ${POPULATION.pods} healthy pods`, () => {
  it("reads every log", () => {
    expect(steady.intervals.logs).toBe(POPULATION.pods);
    expect(steady.logReads).toBeGreaterThan(0);
  });

  it("writes nothing but its Lease", () => {
    expect(steady.writes).toEqual([]);
  });

  it("has no request refused", () => {
    expect(steady.refused).toEqual([]);
  });

  it("makes few requests of each kind", () => {
    const perMinute = steady.kinds.map(({ what, count }) => ({ what, perMinute: Math.round((60 * count) / SECONDS) }));
    const tooMany = perMinute.filter(kind => kind.perMinute > (MOST_PER_MINUTE[kind.what] ?? 0));
    expect(tooMany, JSON.stringify(perMinute)).toEqual([]);
  });
});
