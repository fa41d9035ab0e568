import { FakeClock } from "../../core/testing/fake-clock";
import { describe, expect, it } from "vitest";
import { FINALIZER } from "../../api/names";
import { TerminalError, TransientError } from "../../core/errors";
import { makeObject, RecordingLog } from "../../engine/testing/fakes";
import { ApiObjectStore, clusterObjectStore } from "./object-store";

const item = (namespace: string, name: string, finalizers: string[] = []) => ({
  metadata: { namespace, name, uid: `${namespace}-${name}`, finalizers },
});

type Cache = ConstructorParameters<typeof ApiObjectStore>[2];
const NO_CACHE: Cache = { current: () => undefined };

const scopeOf = (namespace = "") => ({
  isOurs: (key: string) => key.startsWith(namespace),
  log: new RecordingLog(),
  clock: new FakeClock(),
  random: () => 0.5,
});

/** A store over pages that a test may change; null is a page that can't be read. */
function makeStore(pages: (object[] | null)[], watched?: string) {
  const json = <T>({ query }: { query?: Readonly<Record<string, unknown>> }): Promise<T> => {
    const page = Number(query?.["continue"] ?? 0);
    const items = pages[page];
    if (!items) return Promise.reject(new TransientError("no answer"));
    return Promise.resolve({ items, metadata: { continue: page + 1 < pages.length ? `${page + 1}` : "" } } as T);
  };
  const jsonOrNull = (): never => {
    throw new TransientError("not asked for");
  };
  const scope = scopeOf(watched);
  const { log, clock } = scope;
  const store = new ApiObjectStore({ json, jsonOrNull }, scope, NO_CACHE);
  const told = () => log.lines.splice(0).map(({ level, fields }) => [level, fields["objects"]]);
  return { store, log, told, clock };
}

describe("the list of objects", () => {
  it("contains all objects if all namespaces are watched, without a warning", async () => {
    const { store, told } = makeStore([[item("a", "one", [FINALIZER])], [item("b", "two")]]);
    expect([(await store.list()).keys, told()]).toEqual([["a/one", "b/two"], []]);
  });

  it("warns about objects with the finalizer in a namespace that is no longer watched, and what to do", async () => {
    const pages = [
      [item("a", "one", [FINALIZER])],
      [item("b", "held", ["other", FINALIZER]), item("b", "free"), item("b", "others", ["other"])],
    ];
    const { store, log, told } = makeStore(pages, "a/");
    expect((await store.list()).keys).toEqual(["a/one"]);
    expect(log.lines[0]?.message).toMatch(/watch their namespaces again until they are deleted/);
    expect(told()).toEqual([["warn", "b/held"]]);
  });

  it("warns again when other objects are held, not with each list", async () => {
    const pages: object[][] = [[item("b", "one", [FINALIZER])]];
    const { store, told } = makeStore(pages, "a/");
    const listOf = async (...names: string[]) => {
      pages[0] = names.map(name => item("b", name, [FINALIZER]));
      await store.list();
      return told().map(([, objects]) => objects);
    };
    expect(await listOf("one")).toEqual(["b/one"]);
    expect(await listOf("one")).toEqual([]);
    expect(await listOf("one", "two")).toEqual(["b/one, b/two"]);
    expect(await listOf()).toEqual([]);
    expect(await listOf("one")).toEqual(["b/one"]);
  });
});

describe("the finalizer", () => {
  it.each<[string, boolean, string[], string[]]>([
    ["is added to those of others", true, ["other"], ["other", FINALIZER]],
    ["is there once", true, [FINALIZER, "other"], ["other", FINALIZER]],
    ["is removed alone", false, ["other", FINALIZER], ["other"]],
  ])("%s, of the object that was read", async (_, present, before, finalizers) => {
    const sent: object[] = [];
    const object = makeObject("a/one");
    const json = <T>(request: object): Promise<T> => (sent.push(request), Promise.resolve(object as T));
    const store = new ApiObjectStore({ json, jsonOrNull: json }, scopeOf(), NO_CACHE);
    await store.setFinalizer({ ...object, metadata: { ...object.metadata, finalizers: before } }, present);
    const { uid, resourceVersion } = object.metadata;
    expect([uid, resourceVersion]).not.toContain(undefined);
    expect(sent).toMatchObject([{ method: "PATCH", body: { metadata: { uid, resourceVersion, finalizers } } }]);
  });
});

describe("the cached objects", () => {
  const before = makeObject("a/one");
  const versioned = (resourceVersion: string) => ({ ...before, metadata: { ...before.metadata, resourceVersion } });

  /** A store whose cache has the object at version 5, over an API server that answers with this one. */
  function makeCachedStore(answer: object | null) {
    const state = { version: "5", get: () => versioned("5"), keys: () => ["a/one", "b/two"] };
    const json = <T>(): Promise<T> => Promise.resolve(answer as T);
    return new ApiObjectStore({ json, jsonOrNull: json }, scopeOf("a/"), { current: () => state });
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
    expect((await store.list()).keys).toEqual(["a/one"]);
    expect(store.cached("a/one")).toBeUndefined();
  });

  it("are used again once the cache has the latest of what was read and written of them", async () => {
    const cache = { version: "5" as string | undefined, get: () => versioned("5"), keys: () => ["a/one"] };
    const answers = ["9", "100", "20"];
    const jsonOrNull = <T>(): Promise<T> => Promise.resolve(versioned(answers.shift() ?? "") as T);
    const store = new ApiObjectStore({ json: jsonOrNull, jsonOrNull }, scopeOf(), { current: () => cache });
    for (let read = 0; read < 3; read++) await store.get("a/one");
    expect(store.cached("a/two")).toBeDefined();
    const isUsedAt = (version: string | undefined) => {
      cache.version = version;
      return [store.cached("a/one") !== undefined, store.cachedKeys() !== undefined];
    };
    expect(["20", "99", "none", undefined].flatMap(isUsedAt)).not.toContain(true);
    expect(isUsedAt("100")).toEqual([true, true]);
    // A version that was reached holds nothing up, such as after a restore of a backup.
    expect(isUsedAt("7")).toEqual([true, true]);
    await store.get("a/one");
    expect(isUsedAt("200")).toEqual([false, false]);
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
  await expect(new ApiObjectStore(api, scopeOf(), NO_CACHE).writeStatus(object, { mode: "Enforce" })).rejects.toThrow(
    told,
  );
  const cluster = { ...object, kind: "ClusterControllerResilience" } as never;
  await expect(clusterObjectStore(api).writeStatus(cluster, { enforced: 1 })).rejects.toThrow(told);
  expect(sent).toEqual(Array(2).fill({ fieldManager: "controller-resilience", fieldValidation: "Strict" }));
});
