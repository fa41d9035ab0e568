import { describe, expect, it } from "vitest";
import type { ControllerResilience } from "../../api/controller-resilience";
import { makeObject } from "../../core/testing/objects";
import { CachedObjects } from "./cached-objects";

const KEY = "team/app";

function objectAt(resourceVersion: string, uid = "first", key = KEY): ControllerResilience {
  const object = makeObject(key);
  return { ...object, metadata: { ...object.metadata, uid, resourceVersion } };
}

/** A cache that a test fills. `version` is that of the whole cache. */
function setUp(version: string | undefined, ...objects: ControllerResilience[]) {
  const world = {
    isTrusted: true,
    version,
    objects: new Map(objects.map(object => [`${object.metadata.namespace}/${object.metadata.name}`, object])),
  };
  const cached = new CachedObjects({
    current: () =>
      world.isTrusted
        ? { version: world.version, get: key => world.objects.get(key), keys: () => [...world.objects.keys()] }
        : undefined,
  });
  const see = (object: ControllerResilience | null, at?: string): void => {
    if (object === null) world.objects.delete(KEY);
    else world.objects.set(KEY, object);
    world.version = at ?? object?.metadata.resourceVersion;
  };
  const versionOf = (key = KEY) => cached.get(key)?.metadata.resourceVersion;
  const note = (resourceVersion: string, uid = "first") => cached.note(KEY, { uid, resourceVersion });
  return { world, cached, see, versionOf, note };
}

describe("a cached object", () => {
  it("is undefined while the cache is not trusted, or does not have it", () => {
    const { world, cached, versionOf } = setUp("10", objectAt("9"));
    expect([versionOf(), versionOf("team/other"), cached.keys()]).toEqual(["9", undefined, [KEY]]);
    world.isTrusted = false;
    expect([versionOf(), cached.keys()]).toEqual([undefined, undefined]);
  });

  it("is known in a version, or in an earlier one, by the cache or by an own read or write", () => {
    const { world, cached, see, note } = setUp("10", objectAt("9"));
    const has = (resourceVersion: string, uid = "first") => cached.isKnown(KEY, { uid, resourceVersion });
    expect([has("8"), has("9"), has("10"), has("11"), has("none")]).toEqual([true, true, true, false, false]);
    world.version = undefined;
    expect([has("9"), has("10"), has("9", "second")]).toEqual([true, false, false]);
    see(null, "12");
    expect([has("12"), has("13")]).toEqual([true, false]);
    note("20");
    expect([has("20"), has("21"), has("20", "second")]).toEqual([true, false, false]);
    world.isTrusted = false;
    expect([has("20"), has("20", "second")]).toEqual([true, false]);
  });

  it("keeps the latest of two versions, in whichever order they are noted", () => {
    const { see, versionOf, note } = setUp("9", objectAt("9"));
    note("100");
    note("20");
    see(objectAt("50"));
    expect(versionOf()).toBeUndefined();
  });

  it("is undefined after a read found it gone, until the cache has its successor", () => {
    const { cached, see, versionOf } = setUp("9", objectAt("9"));
    cached.noteGone(KEY);
    expect(versionOf()).toBeUndefined();
    see(objectAt("10"));
    expect(versionOf()).toBeUndefined();
    see(null, "11");
    expect([versionOf(), cached.keys()]).toEqual([undefined, []]);
    see(objectAt("12", "second"));
    expect(versionOf()).toBe("12");
  });
});

describe("the cached keys", () => {
  it("are undefined while the cache lacks an object that this process has read", () => {
    const { cached, see, note } = setUp("9");
    note("10");
    expect(cached.keys()).toBeUndefined();
    see(objectAt("10"));
    expect(cached.keys()).toEqual([KEY]);
    note("12");
    expect(cached.keys()).toEqual([KEY]);
    see(null, "13");
    expect(cached.keys()).toEqual([]);
  });

  it("are not held up by an object that is gone", () => {
    const { cached, note } = setUp("9");
    note("10");
    cached.noteGone(KEY);
    expect(cached.keys()).toEqual([]);
  });
});
