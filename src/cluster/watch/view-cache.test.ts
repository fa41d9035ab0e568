import { describe, expect, it } from "vitest";
import { type Identified, ViewCache } from "./view-cache";

const view = (name: string, uid = name): Identified => ({ uid, namespace: "team", name });

function cacheOf(...views: Identified[]): ViewCache<Identified> {
  const cache = new ViewCache<Identified>();
  cache.replace(views);
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
    cache.replace([view("d")]);
    expect(["a", "d"].map(name => cache.get("team", name)?.uid)).toEqual([undefined, "d"]);
  });

  it("keeps a recreated object when the deletion of the earlier one arrives late", () => {
    const cache = cacheOf(view("a", "first"));
    expect(cache.get("team", "a")?.uid).toBe("first");
    cache.put(view("a", "second"));
    cache.remove(view("a", "first"));
    expect(cache.get("team", "a")?.uid).toBe("second");
  });

  it("finds a cluster-scoped view without a namespace", () => {
    expect(cacheOf({ uid: "u", name: "x" }).get("", "x")?.uid).toBe("u");
  });
});
