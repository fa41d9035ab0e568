import { FakeClock } from "../../core/testing/fake-clock";
import { describe, expect, it } from "vitest";
import { FINALIZER } from "../../api/names";
import { TerminalError, TransientError } from "../../core/errors";
import { makeObject, RecordingLog } from "../../engine/testing/fakes";
import { ApiClusterObjectStore, ApiObjectStore } from "./object-store";

const item = (namespace: string, name: string, finalizers: string[] = []) => ({
  metadata: { namespace, name, uid: `${namespace}-${name}`, finalizers },
});

/** A store over pages that a test may change; null is a page that can't be read. */
function makeStore(pages: (object[] | null)[], watched?: string) {
  const log = new RecordingLog();
  const json = <T>({ query }: { query?: Readonly<Record<string, unknown>> }): Promise<T> => {
    const page = Number(query?.["continue"] ?? 0);
    const items = pages[page];
    if (!items) return Promise.reject(new TransientError("no answer"));
    return Promise.resolve({ items, metadata: { continue: page + 1 < pages.length ? `${page + 1}` : "" } } as T);
  };
  const jsonOrNull = (): never => {
    throw new TransientError("not asked for");
  };
  const clock = new FakeClock();
  const scope = {
    isOurs: (key: string) => key.startsWith(`${watched}/`),
    log,
    clock,
    random: () => 0.5,
  };
  const store = new ApiObjectStore({ json, jsonOrNull }, watched === undefined ? undefined : scope);
  const told = () => log.lines.splice(0).map(({ level, fields }) => [level, fields["key"]]);
  return { store, log, told, clock };
}

describe("the list of objects", () => {
  it("contains all objects if all namespaces are watched, without a warning", async () => {
    const { store, told } = makeStore([[item("a", "one", [FINALIZER])], [item("b", "two")]]);
    expect([await store.list(), told()]).toEqual([["a/one", "b/two"], []]);
  });

  it("warns about objects with the finalizer in a namespace that is no longer watched, and what to do", async () => {
    const pages = [
      [item("a", "one", [FINALIZER])],
      [item("b", "held", ["other", FINALIZER]), item("b", "free"), item("b", "others", ["other"])],
    ];
    const { store, log, told } = makeStore(pages, "a");
    expect(await store.list()).toEqual(["a/one"]);
    expect(log.lines[0]?.message).toMatch(/watch its namespace again until it is deleted/);
    expect(told()).toEqual([["warn", "b/held"]]);
  });

  it("warns once per object, and again for a new object of the same name", async () => {
    const pages: (object[] | null)[] = [[item("b", "held", [FINALIZER])]];
    const { store, told, clock } = makeStore(pages, "a");
    await store.list();
    pages[1] = null;
    const refused = expect(store.list()).rejects.toThrow("no answer");
    await clock.run(600_000);
    await refused;
    pages.pop();
    await store.list();
    expect(told()).toEqual([["warn", "b/held"]]);
    pages[0] = [{ metadata: { ...item("b", "held", [FINALIZER]).metadata, uid: "another" } }];
    await store.list();
    expect(told()).toEqual([["warn", "b/held"]]);
  });
});

describe("the cached objects", () => {
  const before = makeObject("a/one");
  const versioned = (resourceVersion: string) => ({ ...before, metadata: { ...before.metadata, resourceVersion } });

  /** A store whose cache has the object at version 5, over an API server that answers with this one. */
  function makeCachedStore(answer: object | null) {
    const state = { version: "5", get: () => versioned("5"), keys: () => ["a/one", "b/two"] };
    const json = <T>(): Promise<T> => Promise.resolve(answer as T);
    const scope = {
      isOurs: (key: string) => key.startsWith("a/"),
      log: new RecordingLog(),
      clock: new FakeClock(),
      random: () => 0.5,
    };
    return new ApiObjectStore({ json, jsonOrNull: json }, scope, { current: () => state });
  }

  it("are none without a cache", () => {
    const { store } = makeStore([]);
    expect([store.cached("a/one"), store.cachedKeys()]).toEqual([undefined, undefined]);
  });

  it("have only the keys of watched namespaces", () => {
    expect(makeCachedStore(null).cachedKeys()).toEqual(["a/one"]);
  });

  it.each<[string, (store: ApiObjectStore) => Promise<unknown>]>([
    ["read", store => store.get("a/one")],
    ["written in status", store => store.writeStatus(before, {})],
    ["written in its finalizers", store => store.setFinalizer(before, true)],
  ])("are not older than what was %s", async (_, call) => {
    const store = makeCachedStore(versioned("6"));
    expect(store.cached("a/one")?.metadata.resourceVersion).toBe("5");
    await call(store);
    expect(store.cached("a/one")).toBeUndefined();
    expect(store.cached("a/one")).toBeUndefined();
  });

  it("are not older than what a list has seen", async () => {
    const store = makeCachedStore({ metadata: { resourceVersion: "6" }, items: [versioned("6")] });
    expect(await store.list()).toEqual(["a/one"]);
    expect(store.cached("a/one")).toBeUndefined();
  });

  it("do not have an object that a read found gone", async () => {
    const store = makeCachedStore(null);
    await store.get("a/one");
    expect(store.cached("a/one")).toBeUndefined();
  });
});

it("writes no status without a field that the definition in the cluster does not have, and says what to do", async () => {
  const sent: unknown[] = [];
  const json = (request: { query?: object }): Promise<never> => {
    sent.push(request.query);
    return Promise.reject(new TerminalError('update: HTTP 400: strict decoding error: unknown field "status.mode"'));
  };
  const api = { json, jsonOrNull: json };
  const object = makeObject("team/app");
  const told = 'unknown field "status.mode"; upgrade the definitions in crds/';
  await expect(new ApiObjectStore(api).writeStatus(object, { mode: "Enforce" })).rejects.toThrow(told);
  const cluster = { ...object, kind: "ClusterControllerResilience" } as never;
  await expect(new ApiClusterObjectStore(api).writeStatus(cluster, { enforced: 1 })).rejects.toThrow(told);
  expect(sent).toEqual(Array(2).fill({ fieldManager: "controller-resilience", fieldValidation: "Strict" }));
});
