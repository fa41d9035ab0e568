import { describe, expect, it } from "vitest";
import { runToEnd } from "../../core/slices";
import { type Identified, isChange, ViewCache } from "./view-cache";

const view = (name: string, uid = name): Identified => ({ uid, namespace: "team", name });

function cacheOf(...views: Identified[]): ViewCache<Identified> {
  const cache = new ViewCache<Identified>();
  runToEnd(cache.replace(views));
  return cache;
}

describe("a cache of views", () => {
  it("finds a view by namespace and name, also after each kind of change", () => {
    const cache = cacheOf(view("a"), view("b"));
    expect([cache.get("team", "a")?.uid, cache.get("other", "a")]).toEqual(["a", undefined]);
    cache.put(view("c"));
    cache.remove(view("b"));
    expect(["a", "b", "c"].map(name => cache.get("team", name)?.uid)).toEqual(["a", undefined, "c"]);
    const changed = { ...view("a"), resourceVersion: "2" };
    cache.put(changed);
    expect(cache.get("team", "a")).toBe(changed);
    runToEnd(cache.replace([view("d")]));
    expect(["a", "d"].map(name => cache.get("team", name)?.uid)).toEqual([undefined, "d"]);
  });

  it("keeps a recreated object when the deletion of the earlier one arrives late", () => {
    const cache = cacheOf(view("a", "first"));
    expect(cache.get("team", "a")?.uid).toBe("first");
    cache.put(view("a", "second"));
    cache.remove(view("a", "first"));
    expect(cache.get("team", "a")?.uid).toBe("second");
  });

  it("has an array per namespace, which stays until one of its views changes", () => {
    const at = (namespace: string, name: string, resourceVersion: string): Identified => ({
      ...{ uid: `${namespace}-${name}`, namespace, name, resourceVersion },
    });
    const cache = cacheOf(at("x", "a", "1"), at("x", "b", "1"), at("y", "a", "1"), at("z", "a", "1"));
    const [x, y] = [cache.of("x"), cache.of("y")];
    expect(x.map(({ name }) => name)).toEqual(["a", "b"]);
    cache.put(at("y", "a", "2"));
    expect([cache.of("x"), cache.of("none")]).toEqual([x, []]);
    expect(cache.of("x")).toBe(x);
    expect(cache.of("y")).not.toBe(y);
    const deltas = runToEnd(
      cache.replace([at("x", "a", "1"), at("x", "b", "1"), at("y", "a", "3"), at("w", "a", "1")]),
    );
    expect(deltas.filter(isChange).map(({ before, after }) => [before?.uid, after?.uid])).toEqual([
      ["z-a", undefined],
      [undefined, "w-a"],
    ]);
    expect([cache.of("y")[0]?.resourceVersion, cache.of("z").length, cache.all().length]).toEqual(["3", 0, 4]);
  });

  it("finds a cluster-scoped view without a namespace", () => {
    expect(cacheOf({ uid: "u", name: "x" }).get("", "x")?.uid).toBe("u");
  });
});
