import { afterEach, describe, expect, it } from "vitest";
import { ForbiddenError, TransientError, UnauthorizedError, WaitError } from "../../core/errors";
import { settle } from "../../core/testing/fake-clock";
import { KINDS } from "../../core/kinds";
import type { Delta } from "./view-cache";
import { serviceAccountView } from "../read/views";
import { account, accounts, listOf, WatchServer } from "../testing/watch-server";
import { Watch } from "./watch";
import type { ServiceAccountView } from "../../core/views";

const MINUTE = 60_000;

const list = (version: string, ...names: string[]) => listOf(version, accounts(...names));
const added = (name: string, version: string) => ({ type: "ADDED", object: account(name, version) });
const bookmark = (version: string) => ({ type: "BOOKMARK", object: { metadata: { resourceVersion: version } } });

let stopAll: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stopAll.map(stop => stop()));
  stopAll = [];
});

function setUp(onDelta?: (delta: Delta<ServiceAccountView>) => void, more: { withoutBookmarks?: boolean } = {}) {
  const api = new WatchServer();
  api.list = () => list("10", "a", "b");
  const seen: string[] = [];
  const note = ({ before, after }: Delta<ServiceAccountView>) =>
    void seen.push(after === null ? `-${before?.name}` : `${before === null ? "+" : "~"}${after.name}`);
  const watch = new Watch(api.context, {
    ...{ resource: KINDS.ServiceAccount, namespace: "kai", project: serviceAccountView },
    onDelta: onDelta ?? note,
    ...more,
  });
  stopAll.push(() => watch.stop());
  const { clock, ends, logged: warned } = api;
  return { clock, api, seen, warned, ends, watch, names: () => watch.views().map(view => view.name) };
}

async function begin(onDelta?: (delta: Delta<ServiceAccountView>) => void) {
  const all = setUp(onDelta);
  all.watch.start();
  await all.clock.run(0);
  await settle();
  return all;
}

describe("a watch", () => {
  it("stores a list at once and reports it in slices, before later events", async () => {
    const told: string[] = [];
    const all = setUp(({ after }) => {
      told.push(after?.name ?? "");
      all.clock.freeze(6);
    });
    all.api.list = () => list("10", "a", "b", "c", "d");
    all.watch.start();
    await settle();
    expect([told, all.names(), all.api.asked]).toEqual([["a", "b"], ["a", "b", "c", "d"], ["list"]]);
    await all.clock.run(100);
    await settle();
    expect(told).toEqual(["a", "b", "c", "d"]);
    expect(all.api.asked).toEqual(["list", "watch from 10"]);
  });

  it("continues from the last bookmark after a clean close, without a pause", async () => {
    const { api, clock, warned } = await begin();
    await clock.run(MINUTE);
    await api.say(bookmark("40"));
    await api.end();
    await clock.run(0);
    expect(api.asked).toEqual(["list", "watch from 10", "watch from 40"]);
    expect(warned).toEqual([]);
  });

  it("backs off when watches close immediately", async () => {
    const { api, clock, ends, warned } = await begin();
    api.closesAtOnce = true;
    await api.end();
    await clock.run(10 * MINUTE);
    expect(new Set(ends)).toEqual(new Set(["closed"]));
    expect(warned).toHaveLength(ends.length);
    // Half of 0.8, 1.6, 3.2 ... 30 s each, since the dice always show one half.
    expect(ends.length).toBeGreaterThan(40);
    expect(ends.length).toBeLessThan(50);
  });

  it("relists after 410 and reports objects that were deleted meanwhile", async () => {
    const { api, clock, seen, names } = await begin();
    api.list = () => list("90", "b", "c");
    await api.say({ type: "ERROR", object: { kind: "Status", code: 410, message: "too old resource version" } });
    await clock.run(1_000);
    expect(api.asked).toEqual(["list", "watch from 10", "list", "watch from 90"]);
    expect(seen).toEqual(["+a", "+b", "-a", "~b", "+c"]);
    expect(names()).toEqual(["b", "c"]);
  });

  it.each<[string, Error | undefined, string]>([
    ["a reset", new Error("ECONNRESET"), "broken"],
    ["a 401", new UnauthorizedError("401"), "unauthorized"],
    ["a 403", new ForbiddenError("403"), "forbidden"],
  ])("keeps its resourceVersion after %s, and logs a warning", async (_, error, reason) => {
    const { api, clock, warned, ends } = await begin();
    await api.say(added("c", "11"));
    await api.end(error);
    await clock.run(1_000);
    expect(api.asked.at(-1)).toBe("watch from 11");
    expect(ends).toEqual([reason]);
    expect(warned).toEqual([reason]);
  });

  it("keeps its resourceVersion when it is closed in the middle of an event", async () => {
    const { api, clock, ends } = await begin();
    api.stream()?.push(`${JSON.stringify(added("c", "11"))}\n{"type":"ADDED","object":{"metad`);
    await api.end();
    await clock.run(1_000);
    expect(ends).toEqual(["broken"]);
    expect(api.asked.at(-1)).toBe("watch from 11");
  });

  it.each([
    '{"type":"ADDED","obj\n',
    "[]\n",
    '{"type":"ADDED","object":{}}\n',
    '{"type":"NEW","object":{"metadata":{"resourceVersion":"9"}}}\n',
  ])("relists after an invalid event: %s", async nonsense => {
    const { api, clock, ends } = await begin();
    api.stream()?.push(nonsense);
    await settle();
    await clock.run(1_000);
    expect(ends).toEqual(["malformed"]);
    expect(api.asked).toEqual(["list", "watch from 10", "list", "watch from 10"]);
  });

  it("waits as long as a 429 asks", async () => {
    const { api, clock } = await begin();
    const refusals = [new WaitError("429", 20_000)];
    api.refuse = () => refusals.shift();
    await clock.run(6_000);
    await api.end();
    await clock.run(19_000);
    expect(api.asked).toHaveLength(3);
    await clock.run(1_000);
    expect(api.asked).toHaveLength(4);
  });

  it("ends a silent connection and relists, but keeps one that delivers only bookmarks", async () => {
    const { api, clock, ends } = await begin();
    for (let i = 0; i < 4; i++) {
      await clock.run(75_000);
      await api.say(bookmark(String(20 + i)));
    }
    expect(ends).toEqual([]);
    const stream = api.stream();
    await clock.run(149_000);
    expect(ends).toEqual([]);
    await clock.run(1_000);
    await settle();
    expect(stream?.destroyed).toBe(true);
    expect(ends).toEqual(["stalled"]);
    await clock.run(1_000);
    expect(api.asked).toEqual(["list", "watch from 10", "list", "watch from 10"]);
    // The second one says nothing at all.
    await clock.run(150_000);
    await settle();
    expect(ends).toEqual(["stalled", "stalled"]);
  });

  it.each(["watches", "pauses"])("relists when etcd was restored while it %s", async state => {
    const { api, clock, watch, seen, ends } = await begin();
    await api.say(added("c", "11"));
    if (state === "pauses") await api.end(new Error("reset"));
    api.list = () => list("7", "a", "d");
    watch.relist();
    expect(watch.version()).toBeUndefined();
    await clock.run(1_000);
    expect(api.asked).toEqual(["list", "watch from 10", "list", "watch from 7"]);
    expect(ends).toEqual([state === "pauses" ? "broken" : "stalled"]);
    expect(seen).toEqual(["+a", "+b", "+c", "-b", "-c", "~a", "+d"]);
  });

  it("relists after every watch without bookmarks, and tolerates its silence until then", async () => {
    const { clock, api, watch, warned, names } = setUp(undefined, { withoutBookmarks: true });
    watch.start();
    await settle();
    for (let i = 0; i < 3; i++) {
      // The server was asked for 150 s.
      await clock.run(170_000);
      expect(names()).toEqual(["a", "b"]);
      await api.end();
    }
    await clock.run(1_000);
    expect(api.asked).toEqual(Array.from({ length: 4 }, () => ["list", "watch from 10"]).flat());
    expect(warned).toEqual([]);
    await api.end(new Error("reset"));
    await clock.run(5_000);
    expect(api.asked.slice(-2)).toEqual(["list", "watch from 10"]);
  });

  it("refuses to answer from a stale cache, logs that, and recovers", async () => {
    const { api, clock, watch, names } = await begin();
    api.refuse = () => new TransientError("refused");
    api.list = () => new TransientError("refused");
    await api.end();
    await clock.run(239_000);
    expect(watch.trouble()).toBeNull();
    expect(names()).toEqual(["a", "b"]);
    await clock.run(2_000);
    expect(watch.trouble()).toBe("watch serviceaccounts in kai: stale for 241 s (refused)");
    expect(() => watch.views()).toThrow(TransientError);
    api.refuse = () => undefined;
    api.list = () => list("49", "a", "b");
    await clock.run(30_000);
    await api.say(bookmark("50"));
    expect(names()).toEqual(["a", "b"]);
  });

  it("survives exceptions of its handler", async () => {
    const { api, names, warned } = await begin(() => {
      throw new Error("handler");
    });
    await api.say(added("c", "11"));
    expect(names()).toEqual(["a", "b", "c"]);
    expect(warned).toHaveLength(3);
  });

  it.each(["while it watches", "while it pauses"])("stops at once %s, without a timer or request left", async when => {
    const { api, clock, watch, seen } = await begin();
    if (when === "while it pauses") await api.end(new Error("reset"));
    const before = seen.length;
    await watch.stop();
    expect(clock.pendingTimers).toBe(0);
    expect(api.stream()?.destroyed).toBe(true);
    api.stream()?.push(`${JSON.stringify(added("c", "11"))}\n`);
    await clock.run(10 * MINUTE);
    expect(seen).toHaveLength(before);
    expect(api.asked).toEqual(["list", "watch from 10"]);
  });
});
