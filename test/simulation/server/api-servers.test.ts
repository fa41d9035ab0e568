import { beforeEach, describe, expect, it } from "vitest";
import { networkError, type Outcome } from "./api-servers";
import type { Entry } from "./journal";
import { bodyOf, ServerWorld } from "./testing";

let world: ServerWorld;

beforeEach(() => {
  world = new ServerWorld(2);
});

const PODS = "/api/v1/namespaces/default/pods";
const pod = (name: string, more: object = {}) => ({
  metadata: { name, ...more },
  spec: { containers: [{ name: "main", image: "x:1" }] },
});
describe("a request", () => {
  it("is served, and told to listeners", async () => {
    let entry: Entry | undefined;
    world.servers.listeners.add(one => (entry = one));
    const { code, body, headers } = await world.ask(PODS, { method: "POST", body: pod("a") });
    expect(code).toBe(201);
    expect(body).toMatchObject({ kind: "Pod", status: { phase: "Pending" }, spec: { restartPolicy: "Always" } });
    expect(headers["date"]).toBe("Mon, 05 Jan 2026 08:00:00 GMT");
    expect(entry).toMatchObject({ verb: "create", resource: "pods", namespace: "default", code: 201 });
    expect(entry?.after?.metadata.name).toBe("a");
  });

  it("without a valid token is answered 401, and without the right 403", async () => {
    expect(await world.ask(PODS, { token: "none" })).toMatchObject({ code: 401, body: { reason: "Unauthorized" } });
    world.access.addUser("kai", { user: "kai", groups: ["system:authenticated"] });
    const { code, body } = await world.ask(`${PODS}/a`, { token: "kai" });
    const message =
      'pods "a" is forbidden: User "kai" cannot get resource "pods" in API group "" in the namespace "default"';
    expect([code, body]).toEqual([403, expect.objectContaining({ message, details: { name: "a", kind: "pods" } })]);
  });

  it("of a client stays at its server, and an instance has its own address", async () => {
    for (let at = 0; at < 8; at++) await world.ask(PODS);
    await world.ask(PODS, { instance: { address: "10.0.0.2", port: 6443 } });
    const servers: number[] = [];
    world.servers.listeners.add(({ server }) => void servers.push(server));
    for (let at = 0; at < 8; at++) await world.ask(PODS);
    await world.ask(PODS, { instance: { address: "10.0.0.2", port: 6443 } });
    expect(new Set(servers.slice(0, 8)).size).toBe(1);
    expect(servers[8]).toBe(1);
  });

  it("reaches another server when its own is down, and none when all are", async () => {
    world.servers.stop(0);
    expect((await world.ask(PODS)).code).toBe(200);
    world.servers.stop(1);
    await expect(world.ask(PODS)).rejects.toThrow(networkError("ECONNREFUSED").message);
  });
});

describe("a fault", () => {
  const during = async (outcome: Outcome, name: string): Promise<unknown> => {
    const fault = () => outcome;
    world.servers.faults.add(fault);
    const asked = world.send(PODS, { method: "POST", body: pod(name) }).then(async answer => {
      await bodyOf(answer);
      return { code: answer.statusCode, headers: answer.headers };
    });
    let result: unknown = "no answer";
    asked.then(
      told => (result = told),
      (error: unknown) => (result = error),
    );
    await world.pass(10_000);
    world.servers.faults.delete(fault);
    return result;
  };
  const exists = (name: string): boolean => world.store.get("pods", "default", name) !== undefined;

  it("answers in place of the server", async () => {
    expect(await during({ status: 503, retryAfterSeconds: 3 }, "a")).toMatchObject({
      code: 503,
      headers: { "retry-after": "3" },
    });
    expect(exists("a")).toBe(false);
  });

  it("breaks the connection before or after the write", async () => {
    let last: Entry | undefined;
    world.servers.listeners.add(entry => (last = entry));
    expect(await during({ reset: "before" }, "a")).toMatchObject({ code: "ECONNRESET" });
    expect(await during({ reset: "after" }, "b")).toMatchObject({ code: "ECONNRESET" });
    expect([exists("a"), exists("b")]).toEqual([false, true]);
    expect(last).toMatchObject({ code: 201, isLost: true });
  });

  it("keeps silent before or after the write", async () => {
    expect(await during({ silence: "before" }, "a")).toBe("no answer");
    expect(await during({ silence: "after" }, "b")).toBe("no answer");
    expect([exists("a"), exists("b")]).toEqual([false, true]);
  });

  it("cuts a body", async () => {
    expect(await during({ truncate: 0.5 }, "a")).toMatchObject({ code: "ECONNRESET" });
    expect(exists("a")).toBe(true);
  });

  it("shows what was", async () => {
    await world.ask(PODS, { method: "POST", body: pod("a") });
    await world.pass(1_000);
    world.servers.faults.add(() => ({ staleMs: 5_000 }));
    expect((await world.ask(PODS)).body).toMatchObject({ items: [] });
    expect((await world.ask(`${PODS}/a`)).code).toBe(404);
  });
});

describe("a write whose client gives up", () => {
  it("is executed all the same", async () => {
    const aborted = new AbortController();
    const sent = world.send(PODS, { method: "POST", body: pod("a") }, aborted.signal);
    aborted.abort(new Error("enough"));
    await expect(sent).rejects.toThrow("enough");
    await world.pass(10);
    expect(world.store.get("pods", "default", "a")).toBeDefined();
  });
});

describe("a list", () => {
  it("has pages of one state", async () => {
    for (const name of ["a", "b", "c"]) await world.ask(PODS, { method: "POST", body: pod(name) });
    const first = (await world.ask(`${PODS}?limit=2`)).body as {
      metadata: { continue: string; remainingItemCount: number; resourceVersion: string };
    };
    expect(first.metadata.remainingItemCount).toBe(1);
    await world.ask(`${PODS}/c`, { method: "DELETE" });
    const second = (await world.ask(`${PODS}?limit=2&continue=${first.metadata.continue}`)).body as typeof first & {
      items: { metadata: { name: string } }[];
    };
    expect(second.items.map(({ metadata }) => metadata.name)).toEqual(["c"]);
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    await world.pass(300_000);
    expect((await world.ask(`${PODS}?limit=2&continue=${first.metadata.continue}`)).body).toMatchObject({
      code: 410,
      reason: "Expired",
    });
  });
});

describe("a watch", () => {
  const lines = async (
    path: string,
    ms: number,
    meanwhile: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<{ type: string; object: { metadata?: { name?: string; resourceVersion: string }; code?: number } }[]> => {
    const end = new AbortController();
    const opened = world.send(path, {}, end.signal);
    await world.pass(5);
    const answer = await opened;
    const read: string[] = [];
    answer.on("data", chunk => void read.push(String(chunk)));
    await meanwhile();
    await world.pass(ms);
    end.abort(new Error("enough"));
    return read
      .join("")
      .trim()
      .split("\n")
      .filter(Boolean)
      .map(line => JSON.parse(line) as never);
  };
  const create =
    (name: string, labels = {}) =>
    () =>
      world.ask(PODS, { method: "POST", body: pod(name, { labels }) });
  const from = () => world.store.revision;

  it("tells changes since a version, then bookmarks", async () => {
    const start = from();
    await create("a")();
    const events = await lines(
      `${PODS}?watch=true&allowWatchBookmarks=true&resourceVersion=${start}`,
      61_000,
      create("b"),
    );
    expect(events.map(({ type, object }) => [type, object.metadata?.name])).toEqual([
      ["ADDED", "a"],
      ["ADDED", "b"],
      ["BOOKMARK", undefined],
    ]);
  });

  it("from a version that is forgotten says 410", async () => {
    await create("a")();
    world.store.compact("pods");
    expect(await lines(`${PODS}?watch=true&resourceVersion=1`, 1_000)).toMatchObject([
      { type: "ERROR", object: { code: 410 } },
    ]);
  });

  it("of a selection adds and deletes what comes and goes", async () => {
    await create("a")();
    const path = `/api/v1/events?watch=true&fieldSelector=reason%3Dx&resourceVersion=${from()}`;
    world.store.create("events", { metadata: { name: "e", namespace: "default" } });
    const events = await lines(path, 1_000, () => {
      for (const reason of ["x", "y"])
        world.store.update("events", "default", "e", draft => void (draft["reason"] = reason));
      return Promise.resolve();
    });
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "DELETED"]);
  });

  it("shows a lagging server's state", async () => {
    world.servers.faults.add(() => ({ staleMs: 500 }));
    const opened = world.send(`${PODS}?watch=true&resourceVersion=${from()}`);
    await world.pass(5);
    const answer = await opened;
    const read: number[] = [];
    answer.on("data", () => void read.push(world.clock.monotonicMs()));
    const atMs = world.clock.monotonicMs();
    world.store.create("pods", { ...pod("a"), metadata: { name: "a", namespace: "default" } });
    await world.pass(1_000);
    expect(read).toEqual([atMs + 500]);
  });

  it("ends at its timeout, and breaks with its server", async () => {
    const opened = world.send(`${PODS}?watch=true&resourceVersion=${from()}&timeoutSeconds=2`);
    await world.pass(2_100);
    expect(await bodyOf(await opened)).toBe("");
    const broken = world.send(`${PODS}?watch=true&resourceVersion=${from()}`);
    await world.pass(5);
    [0, 1].forEach(server => world.servers.stop(server));
    await expect(bodyOf(await broken)).rejects.toThrow("socket hang up");
  });

  it("loses or repeats events by a fault, or falls silent", async () => {
    world.servers.faults.add(({ ask }) =>
      ask.verb === "watch"
        ? { onEvent: ({ object }) => (object.metadata.name === "a" ? "drop" : "repeat"), silentAfterMs: 30_000 }
        : undefined,
    );
    const events = await lines(
      `${PODS}?watch=true&allowWatchBookmarks=true&resourceVersion=${from()}`,
      90_000,
      async () => {
        await create("a")();
        await create("b")();
      },
    );
    expect(events.map(({ object }) => object.metadata?.name)).toEqual(["b", "b"]);
  });

  it("of a version that is not there yet, as after a restore, says nothing until it is passed; a list is refused", async () => {
    const backup = world.store.snapshot();
    await create("a")();
    const future = `resourceVersion=${from()}`;
    world.store.restore(backup);
    expect((await world.ask(`${PODS}?${future}`)).code).toBe(504);
    const events = await lines(`${PODS}?watch=true&allowWatchBookmarks=true&${future}`, 60_000, async () => {
      await world.pass(90_000);
      await create("b")();
      await create("c")();
    });
    expect(events.map(({ type, object }) => `${type} ${object.metadata?.name}`)).toEqual([
      "ADDED c",
      "BOOKMARK undefined",
    ]);
  });
});

describe("paths that are no resources", () => {
  it("are keys and metrics", async () => {
    const accept = { Accept: "application/jwk-set+json" };
    expect((await world.ask("/openid/v1/jwks", { headers: accept })).body).toMatchObject({
      keys: [{ kid: world.access.signer }],
    });
    expect((await world.ask("/openid/v1/jwks", { headers: { Accept: "application/json" } })).code).toBe(406);
    const [owner, asked] = [
      { namespace: "a", serviceAccount: "x" },
      { verb: "list", group: "", resource: "pods" },
    ];
    for (const [code, count] of [
      [200, 7],
      [401, 3],
      [403, 2],
    ] as const)
      world.servers.request(owner, asked, { server: 0, code, count });
    const { body } = await world.ask("/metrics", { instance: { address: "10.0.0.1", port: 6443 } });
    expect(body).toContain(
      'apiserver_flowcontrol_dispatched_requests_total{flow_schema="service-accounts",priority_level="workload-low"} 9',
    );
    expect(body).toContain('authentication_attempts{result="error"} 3');
    expect(body).toContain('authorization_attempts_total{result="no-opinion"} 2');
    expect(body).toMatch(/process_start_time_seconds 1\.7\d+e\+09/);
    expect((await world.ask("/nothing")).body).toBe("404 page not found\n");
  });
});
