import { describe, expect, it } from "vitest";
import { FINALIZER } from "../../api/names";
import { TransientError } from "../../core/errors";
import { RecordingLog } from "../../engine/testing/fakes";
import { ApiObjectStore } from "./object-store";

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
  const scope = { isOurs: (key: string) => key.startsWith(`${watched}/`), log };
  const store = new ApiObjectStore({ json, jsonOrNull }, watched === undefined ? undefined : scope);
  const told = () => log.lines.splice(0).map(({ level, fields }) => [level, fields["key"]]);
  return { store, log, told };
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
    const { store, told } = makeStore(pages, "a");
    await store.list();
    pages[1] = null;
    await expect(store.list()).rejects.toThrow("no answer");
    pages.pop();
    await store.list();
    expect(told()).toEqual([["warn", "b/held"]]);
    pages[0] = [{ metadata: { ...item("b", "held", [FINALIZER]).metadata, uid: "another" } }];
    await store.list();
    expect(told()).toEqual([["warn", "b/held"]]);
  });
});
