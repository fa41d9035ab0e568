import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Connection } from "../../src/cluster/http/connection";
import { KindReadings } from "../../src/cluster/measure/kind-readings";
import { systemClock } from "../../src/cluster/system";
import type { KindReading } from "../../src/core/progress";
import type { Clock } from "../../src/core/time";
import { questionOf } from "../../src/evidence/progress/due";
import { apiOver, clientWith } from "./cluster-operator";
import { eventually } from "../cluster/admin";
import { suiteAdmin } from "./suite-lab";

// Kinds with and without a status subresource, read from a real API server with the rights that an administrator aggregates.

const GROUP = `g${Math.random().toString(36).slice(2, 8)}.example.com`;
const VERSION = `${GROUP}/v1`;

/** Minutes take three seconds. */
const SPEED = 20;
const fast: Clock = {
  now: () => systemClock.now(),
  monotonicMs: () => systemClock.monotonicMs() * SPEED,
  after: (ms, callback) => systemClock.after(ms / SPEED, callback),
};

const admin = suiteAdmin();
let namespace: string;
let connection: Connection;
let readings: KindReadings;

const definition = (kind: string, plural: string, subresources: object): object => {
  const names = { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` };
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } };
  const versions = [{ name: "v1", served: true, storage: true, schema, subresources }];
  return { metadata: { name: `${plural}.${GROUP}` }, spec: { group: GROUP, scope: "Namespaced", names, versions } };
};

const path = (plural: string, name = ""): string =>
  `/apis/${VERSION}/namespaces/${namespace}/${plural}${name === "" ? "" : `/${name}`}`;

async function create(plural: string, kind: string, name: string): Promise<void> {
  const body = { apiVersion: VERSION, kind, metadata: { name }, spec: { size: 1 } };
  // A definition is served a moment after it is there.
  const created = await eventually(
    () => admin.create(path(plural), body).catch((error: unknown) => error),
    result => !(result instanceof Error),
  );
  expect(created).not.toBeInstanceOf(Error);
}

/** Asks until the reading is as hoped. */
const reads = (kind: string, hoped: (reading: KindReading) => boolean, more = {}): Promise<KindReading> =>
  eventually(() => readings.kind(questionOf({ apiVersion: VERSION, kind, ...more })), hoped);

const isKnown = ({ unknown }: KindReading): boolean => unknown === undefined;

/** Why nothing is known of a kind, once it was asked for. */
async function unknown(kind: string, more = {}): Promise<KindReading["unknown"]> {
  return (await reads(kind, reading => reading.unknown?.message.endsWith("not read yet") !== true, more)).unknown;
}

const edit = (plural: string, size: number): Promise<unknown> => admin.patch(path(plural, "blue"), { spec: { size } });

beforeAll(async () => {
  namespace = await admin.namespace("kinds");
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await admin.create(definitions, definition("Widget", "widgets", { status: {} }));
  await admin.create(definitions, definition("Gadget", "gadgets", {}));
  await admin.create(definitions, definition("Sheep", "sheep", {}));
  await create("widgets", "Widget", "blue");
  await create("gadgets", "Gadget", "blue");
  await create("sheep", "Sheep", "dolly");
  const rules = [{ apiGroups: [GROUP], resources: ["widgets", "gadgets", "sheep"], verbs: ["get", "list"] }];
  connection = await clientWith(admin, namespace, rules);
  readings = new KindReadings({ api: apiOver(connection), clock: fast });
});

afterAll(() => {
  for (const each of [connection, admin.connection]) each.close();
});

describe("a kind", () => {
  it("with a status subresource is due by its generation, and moves by its status alone", async () => {
    const status = (observedGeneration: number): Promise<unknown> =>
      admin.patch(`${path("widgets", "blue")}/status`, { status: { observedGeneration } });
    await status(1);
    expect(await reads("Widget", isKnown)).toMatchObject({ due: [], movedMs: -Infinity });
    await edit("widgets", 2);
    const { due, movedMs } = await reads("Widget", reading => reading.due.length > 0);
    expect(due).toMatchObject([{ namespace, name: "blue", generation: 2, observed: 1, wasDone: true }]);
    expect(movedMs).toBe(-Infinity);
    await status(2);
    const handled = await reads("Widget", reading => reading.due.length === 0 && reading.movedMs > 0);
    expect(handled.movedMs).toBeGreaterThanOrEqual(due[0]!.dueMs);
    expect(handled.passedMs).toBe(due[0]!.dueMs);
  });

  it("without one moves by the fields of its status, whoever writes its spec", async () => {
    const busy = { due: "has(object.status) && object.spec.size > object.status.size" };
    // managedFields has one time for all that one manager has written.
    const report = (size: number) => admin.patch(`${path("gadgets", "blue")}?fieldManager=it`, { status: { size } });
    await report(1);
    expect(await reads("Gadget", isKnown, busy)).toMatchObject({ due: [], movedMs: -Infinity });
    await edit("gadgets", 2);
    const found = await reads("Gadget", reading => reading.due.length > 0, busy);
    expect(found).toMatchObject({ due: [{ name: "blue", wasDone: true }], movedMs: -Infinity });
    await report(2);
    const handled = await reads("Gadget", reading => reading.movedMs > 0, busy);
    expect(handled.movedMs).toBeGreaterThan(0);
  });

  it("says why nothing is known of it", async () => {
    expect(await unknown("Nothing")).toEqual({
      forbidden: false,
      message: `kind Nothing of ${VERSION} does not exist (yet)`,
    });
    expect((await unknown("Sheep"))?.message).toMatch(/expected the resource sheeps, .* got sheep$/);
    expect(await unknown("Secret", { apiVersion: "v1" })).toMatchObject({
      forbidden: true,
      message: expect.stringContaining("list secrets") as string,
    });
  });
});
