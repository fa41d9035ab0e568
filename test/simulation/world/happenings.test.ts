import { expect, it } from "vitest";
import { simulate } from "../simulate";
import { subjectsOf } from "./fate";
import { HAPPENINGS, sentences } from "./happenings";
import type { Happening, Plan } from "./plan";

const blocks = { tokenRestart: {}, bindingRenewal: {}, tokenLifetime: {}, flowIsolation: {}, stallDetection: {} };

const world: Omit<Plan, "happenings"> = {
  ...{ seed: 1, lastsMs: 660_000, servers: 2, operators: [0, 0], nodes: 2 },
  workloads: [
    { namespace: "team", name: "app", kind: "Deployment", program: "kopf", replicas: 2, leaseSeconds: 15 },
    { namespace: "team", name: "agent", kind: "DaemonSet", program: "client-go-new", sidecar: "noisy" },
  ],
  objects: [
    { namespace: "team", name: "main", spec: { targets: [{ kind: "Deployment", name: "app" }], ...blocks } },
    { name: "everything", spec: { template: { tokenRestart: {} } } },
  ],
  bindings: [{ namespace: "team", name: "temporary", account: "app", expiresMs: 3e6, lifeMs: 7.2e6, consents: true }],
};

const names = Object.keys(HAPPENINGS);
const batches = Array.from({ length: Math.ceil(names.length / 20) }, (_, at) => names.slice(20 * at, 20 * at + 20));

it.each(batches)("%s and the next ones begin, end, and are told", async (...batch) => {
  const happenings = batch.map((what, at) => {
    const { on: subject, lasts, amount, text } = HAPPENINGS[what]!;
    const [on] = subject === undefined ? [] : subjectsOf(world, subject);
    return {
      ...{ atMs: 180_000 + 20_000 * at, what, ...(on !== undefined && { on }) },
      ...(lasts !== undefined && { forMs: 15_000 }),
      ...(amount !== undefined && { amount: 0.5 }),
      ...(text !== undefined && { text: 'tokenRestart.cooldown="1h"' }),
    };
  });
  const { story } = await simulate({ ...world, happenings });
  for (const happening of happenings) {
    const { says, ends } = sentences(happening);
    expect(says + ends).not.toMatch(/[%#]/);
    expect(story.map(line => line.slice(9))).toContain(says);
  }
});

it("what a restore from a backup brings back ends once more", async () => {
  const edited = { what: "field-edited", on: "team/main", text: 'tokenRestart.containers=["no-such"]' };
  const happenings = [
    { ...edited, atMs: 180_000, forMs: 120_000 },
    { what: "backup-restored", atMs: 240_000, forMs: 120_000 },
  ];
  const { story } = await simulate({ ...world, happenings });
  const told = story.filter(line => line.endsWith(sentences(edited as Happening).ends));
  expect(told.map(line => line.slice(0, 7))).toEqual(["0:05:00", "0:06:00"]);
});

it("a block that is put back gets the defaults that the present definition has, and the one before had not", async () => {
  const happenings = [
    { what: "definition-older", atMs: 60_000, forMs: 180_000 },
    { what: "drop-restarts", on: "team/main", atMs: 180_000, forMs: 120_000 },
  ];
  const { violations } = await simulate({ ...world, happenings });
  expect(violations).toEqual([]);
});
