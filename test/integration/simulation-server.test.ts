import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Api } from "../../src/cluster/http/api";
import { type Answered, differences, essenceOf, Player, type Send } from "../simulation/server/comparison";
import { REQUESTS } from "../simulation/server/requests";
import { collectionOf, SAMPLES } from "../simulation/server/samples";
import { bodyOf, ServerWorld } from "../simulation/server/testing";
import { apiOver, connectionOf } from "./cluster-operator";
import { eventually, options } from "../cluster/admin";
import { suiteAdmin } from "./suite-lab";

// The simulated API servers against a real one: the same requests, and the same answers.

const admin = suiteAdmin();
const limited = new Map<string, Api>();
let namespace: string;
let real: Player;
let simulated: Player;

async function apiOf(token: string): Promise<Api> {
  const known = limited.get(token);
  if (known !== undefined) return known;
  await admin.untilAllowed(`system:serviceaccount:${namespace}:limited`, { namespace, verb: "get", resource: "pods" });
  const api = apiOver(connectionOf({ token }));
  limited.set(token, api);
  return api;
}

/** The client encodes bodies itself, so a text is sent as it is parsed. */
const toReal: Send = async ({ title, method, contentType, accept }, path, { body, token }) => {
  const api = token === undefined ? admin.api : await apiOf(token);
  const request = { what: title, method, path, ...(contentType && { contentType }), ...(accept && { accept }) };
  const answer = await api.send({ ...request, ...(body !== undefined && { body: JSON.parse(body) as object }) });
  return { code: answer.code, body: answer.body.toString("utf8") };
};

function toSimulated(world: ServerWorld): Send {
  return async (
    { method, contentType = "application/json", accept = "application/json" },
    path,
    { body, token = "admin" },
  ) => {
    const headers = { "User-Agent": options.userAgent, Accept: accept };
    const answered = world
      .send(path, { method, contentType, headers, token, ...(body !== undefined && { body }) })
      .then(async (answer): Promise<Answered> => ({ code: answer.statusCode ?? 0, body: await bodyOf(answer) }));
    await world.pass(path.includes("watch=true") ? 1_100 : 5);
    return answered;
  };
}

beforeAll(async () => {
  namespace = await admin.namespace("simulated");
  // It answers 429 until it has a cache of a kind, and forgets what was before.
  for (const sample of SAMPLES) {
    const path = `${collectionOf(sample).replace("{ns}", namespace)}?resourceVersion=0`;
    await eventually(
      async () => (await admin.api.send({ what: "fill a cache", method: "GET", path })).code,
      code => code === 200,
    );
  }
  real = new Player(namespace, toReal);
  const world = new ServerWorld();
  world.access.addUser("admin", { user: "admin", groups: ["system:masters", "system:authenticated"] });
  world.store.as({ manager: "controller-resilience" }, () =>
    world.store.create("namespaces", { metadata: { name: "sim-namespace", generateName: "simulated-" } }),
  );
  world.store.create("serviceaccounts", { metadata: { name: "default", namespace: "sim-namespace" } });
  simulated = new Player("sim-namespace", toSimulated(world));
});

afterAll(() => admin.connection.close());

describe("the simulated API server", () => {
  it("has enough requests", () => {
    expect(REQUESTS.length).toBeGreaterThanOrEqual(300);
  });

  it("answers as the real one does", async () => {
    const found: string[] = [];
    for (const step of REQUESTS) {
      const [one, other] = [await real.play(step), await simulated.play(step)];
      const differ = differences(essenceOf(one, step), essenceOf(other, step));
      if (differ.length > 0)
        found.push(`${step.title}: ${step.method} ${step.path}\n  ${differ.join("\n  ")}\n  ${one.body.slice(0, 300)}`);
    }
    const file = process.env["SIMULATION_DIFFERENCES"];
    if (file !== undefined) writeFileSync(file, `${found.length} of ${REQUESTS.length}\n${found.join("\n")}\n`);
    expect(found).toEqual([]);
  });
});
