import { ObjectSession } from "../../engine/object/object-session";
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

describe("a status under the definition of an earlier release", () => {
  const object = makeObject("team/app");
  const target = { kind: "Deployment", name: "web", pods: 1, rejectedPods: 1 } as const;
  const status = { targets: [{ ...target, recreatedBy: "HelmHook" as const }] };

  /** A store of an API server that does not know the field at this path, and what it was sent. */
  function earlier(path: string) {
    const [list = "", field] = path.split("[0].");
    const sent: unknown[] = [];
    const json = <T>({ body }: { body?: unknown }): Promise<T> => {
      const { status: got } = body as typeof object;
      sent.push(got);
      const value: unknown = Object.entries(got ?? {}).find(([name]) => name === list)?.[1];
      if (value !== undefined && JSON.stringify(value).includes(field === undefined ? "" : `"${field}":`))
        return Promise.reject(
          new TerminalError(`update: HTTP 400: strict decoding error: unknown field "status.${path}"`),
        );
      return Promise.resolve({ metadata: { ...object.metadata, resourceVersion: "2" } } as T);
    };
    const jsonOrNull = (): never => {
      throw new TransientError("not asked for");
    };
    const api = { json, jsonOrNull };
    return { store: new ApiObjectStore(api), api, sent };
  }

  it("lacks what only people read, and is written once", async () => {
    const { store, sent } = earlier("targets[0].recreatedBy");
    expect(await store.writeStatus(object, status)).toBe("2");
    expect(sent).toEqual([status, { targets: [target] }]);
    const now = { ...object, status: { targets: [target] } };
    expect(await store.writeStatus(now, status)).toBe(object.metadata.resourceVersion);
    // A pass on caches has nothing to write either, so it is not repeated with live reads.
    await new ObjectSession(now, store, new FakeClock(), true).writeStatus(status);
    expect(sent).toHaveLength(2);
  });

  it("lacks how long the pod of a restart had worked", async () => {
    const { store, sent } = earlier("restarts[0].workedSeconds");
    const time = "2025-06-01T12:00:00Z";
    const restart = { workload: "Deployment/web", pod: "p", cause: "Unknown", time, outcome: "Requested" } as const;
    await store.writeStatus(object, { restarts: [{ ...restart, workedSeconds: 60 }] });
    expect(sent.at(-1)).toEqual({ restarts: [restart] });
  });

  it("lacks only in its own list when the restart of a stalled pod began to wait", async () => {
    const { store, sent } = earlier("stalls[0].waitStartTime");
    const waitStartTime = "2025-06-01T12:00:00Z";
    const stall = { workload: "Deployment/web", evidence: "Lease", since: waitStartTime } as const;
    const targets = [{ ...target, waitStartTime }];
    await store.writeStatus(object, { targets, stalls: [{ ...stall, waitStartTime }] });
    expect(sent.at(-1)).toEqual({ targets, stalls: [stall] });
  });

  it("of a ClusterControllerResilience lacks what only people read", async () => {
    const { store, api, sent } = earlier("enforced");
    const cluster = new ApiClusterObjectStore(api, store.served);
    await cluster.writeStatus({ ...object, kind: "ClusterControllerResilience" } as never, {
      namespaces: 2,
      enforced: 1,
    });
    expect(sent).toEqual([{ namespaces: 2, enforced: 1 }, { namespaces: 2 }]);
  });

  it("is not written without a field that a budget needs", async () => {
    const { store, sent } = earlier("targets[0].rejectedPods");
    await expect(store.writeStatus(object, status)).rejects.toThrow("unknown field");
    expect(sent).toHaveLength(1);
  });
});
