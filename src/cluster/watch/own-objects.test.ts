import { afterEach, describe, expect, it } from "vitest";
import type { ObjectMetadata } from "../../api/controller-resilience";
import { settle } from "../../core/testing/fake-clock";
import { makeObject } from "../../core/testing/objects";
import { listOf, WatchServer } from "../testing/watch-server";
import { OwnWatch } from "./own-objects";

const PATH = "/apis/controller-resilience.io/v1alpha1/controllerresiliences";

let stop: (() => Promise<void>) | undefined;
afterEach(() => stop?.());

const at = (resourceVersion: string, changes: Partial<ObjectMetadata> = {}, status?: object) => {
  const object = makeObject("team/app", {}, status);
  return { ...object, metadata: { ...object.metadata, resourceVersion, ...changes } };
};

async function begin(...items: object[]) {
  const server = new WatchServer();
  server.list = () => listOf("10", items);
  const [changed, reported]: [string[], string[]] = [[], []];
  const watch = new OwnWatch(
    server.context,
    "ControllerResilience",
    key => void changed.push(key),
    key => void reported.push(key),
  );
  const early = watch.current();
  watch.start();
  stop = () => watch.stop();
  await settle();
  const say = async (type: string, object: object): Promise<string[]> => {
    changed.length = 0;
    await server.say({ type, object });
    return [...changed];
  };
  return { server, changed, reported, watch, early, say };
}

describe("the watch of objects", () => {
  it("is one for all namespaces, and reports each object once it is filled", async () => {
    const { server, changed, early, watch } = await begin(at("5"));
    expect([server.lists, [...server.open]]).toEqual([[PATH], [PATH]]);
    expect(changed).toEqual(["team/app"]);
    expect([early, watch.current()?.version, watch.current()?.keys()]).toEqual([undefined, "10", ["team/app"]]);
  });

  it("has what a live read returns", async () => {
    const object = at("5", { annotations: { a: "1" } }, { conditions: [] });
    // Items of a list may lack apiVersion and kind.
    const { metadata, spec, status } = object;
    const labels = { b: "2" };
    const { watch } = await begin({ metadata: { ...metadata, labels, managedFields: [{}] }, spec, status });
    expect(watch.current()?.get("team/app")).toEqual({ ...object, metadata: { ...metadata, labels } });
    expect(watch.current()?.get("team/other")).toBeUndefined();
  });

  it("reports what others change, and no write of status", async () => {
    const { say, watch, reported } = await begin(at("5"));
    expect(await say("MODIFIED", at("11", {}, { observedGeneration: 1 }))).toEqual([]);
    expect(reported).toEqual([]);
    expect(watch.current()?.get("team/app")?.status).toEqual({ observedGeneration: 1 });
    expect(watch.current()?.version).toBe("11");
    const changes: Partial<ObjectMetadata>[] = [
      { generation: 2 },
      { generation: 2, annotations: { a: "1" } },
      { generation: 2, annotations: { a: "2" } },
      { generation: 2, annotations: { a: "2" }, finalizers: ["f"] },
      { generation: 2, annotations: { a: "2" }, finalizers: ["f"], deletionTimestamp: "2025-01-01T00:00:00Z" },
    ];
    for (const [i, change] of changes.entries()) {
      expect(await say("MODIFIED", at(String(12 + i), change))).toEqual(["team/app"]);
    }
    expect(await say("DELETED", at("20"))).toEqual(["team/app"]);
    expect(watch.current()?.keys()).toEqual([]);
  });

  it("reports apart when Ready or Stalled changes", async () => {
    const ready = { type: "Ready", status: "True", reason: "AllHold", message: "m", lastTransitionTime: "t" };
    const { say, reported } = await begin(at("5", {}, { conditions: [ready] }));
    expect(await say("MODIFIED", at("11", {}, { conditions: [{ ...ready, message: "n" }] }))).toEqual([]);
    expect(reported).toEqual([]);
    expect(await say("MODIFIED", at("12", {}, { conditions: [{ ...ready, reason: "Rejected" }] }))).toEqual([]);
    expect(reported).toEqual(["team/app"]);
  });
});
