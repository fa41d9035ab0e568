import { afterEach, describe, expect, it } from "vitest";
import { SKIP_ANNOTATION } from "../../api/names";
import { ForbiddenError } from "../../core/errors";
import { settle } from "../../core/testing/fake-clock";
import { InformerWorld } from "../testing/informer-world";

const PATH = "/api/v1/namespaces";

let world: InformerWorld;
afterEach(() => world.informers.stop());

function setUp(...items: object[]): InformerWorld {
  world = new InformerWorld();
  world.items.set(PATH, items);
  return world;
}

const namespace = (name: string, more: object = {}) => ({
  metadata: { uid: `uid-${name}`, name, resourceVersion: "5", creationTimestamp: "2025-01-01T00:00:00Z", ...more },
  spec: { finalizers: ["kubernetes"] },
});

const SKIPPED = { annotations: { [SKIP_ANNOTATION]: "true", "example.com/more": "x" } };

describe("the cache of Namespaces", () => {
  it("starts with the first read, has their labels and this project's annotations, and needs no other watch", async () => {
    const { clock, informers, open, lists } = setUp(namespace("kai", { labels: { team: "a" }, ...SKIPPED }));
    expect(lists).toEqual([]);
    const cache = await informers.namespaceObjects();
    expect(cache.find("", "kai")).toEqual({
      namespace: "",
      name: "kai",
      uid: "uid-kai",
      labels: { team: "a" },
      annotations: { [SKIP_ANNOTATION]: "true" },
      skip: true,
    });
    expect(cache.find("", "flux")).toBeUndefined();
    informers.setNamespaces(new Set());
    await clock.run(120_000);
    await informers.namespaceObjects();
    expect([[...open], lists]).toEqual([[PATH], [PATH]]);
  });

  it("reports a namespace with a ControllerResilience that gets or loses the skip annotation", async () => {
    const { informers } = setUp(namespace("kai"), namespace("other"));
    informers.setNamespaces(new Set(["kai"]));
    await informers.namespaceObjects();
    await settle();
    const say = (object: object) => world.say(PATH, "MODIFIED", object);
    expect(world.changed).toEqual([]);
    expect(await say(namespace("kai", { labels: { team: "a" } }))).toEqual([]);
    expect(await say(namespace("other", SKIPPED))).toEqual([]);
    expect(await say(namespace("kai", SKIPPED))).toEqual(["kai"]);
    expect(await say(namespace("kai"))).toEqual(["kai"]);
  });

  it("tells listeners of every Namespace that is added, changed or deleted", async () => {
    const { informers } = setUp(namespace("kai"));
    const told: string[] = [];
    informers.onNamespaceObject(name => void told.push(name));
    await informers.namespaceObjects();
    await settle();
    expect(told.splice(0)).toEqual(["kai"]);
    await world.say(PATH, "ADDED", namespace("flux"));
    await world.say(PATH, "MODIFIED", namespace("flux", { annotations: { "example.com/more": "x" } }));
    await world.say(PATH, "MODIFIED", namespace("flux", { deletionTimestamp: "2025-01-02T00:00:00Z" }));
    await world.say(PATH, "DELETED", namespace("flux"));
    expect(told).toEqual(["flux", "flux", "flux"]);
  });

  it("is forbidden without the permission to list, which is asked every ten minutes", async () => {
    const { clock, informers, failures, lists, open } = setUp();
    failures.set(PATH, new ForbiddenError("list namespaces: forbidden"));
    const read = async () => (await informers.namespaceObjects()).find("", "kai");
    await expect(read()).rejects.toThrow(ForbiddenError);
    await clock.run(599_000);
    await expect(read()).rejects.toThrow(ForbiddenError);
    expect([lists.length, open.size]).toEqual([1, 0]);
    failures.clear();
    world.items.set(PATH, [namespace("kai")]);
    await clock.run(2_000);
    expect((await read())?.name).toBe("kai");
  });

  it("throws after stop", async () => {
    const { clock, informers } = setUp();
    await informers.namespaceObjects();
    await informers.stop();
    await expect(informers.namespaceObjects()).rejects.toThrow("stopping");
    expect([world.open.size, clock.pendingTimers]).toEqual([0, 0]);
  });
});
