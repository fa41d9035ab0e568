import { Readable } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { KINDS } from "../../core/kinds";
import { TransientError, UnavailableError, WaitError } from "../../core/errors";
import { seededRandom } from "../../core/testing/fake-clock";
import type { PodView, ServiceAccountView } from "../../core/views";
import { RecordingLog } from "../../engine/testing/fakes";
import { Api, TimeoutError } from "../http/api";
import { Connection } from "../http/connection";
import { listPages } from "../http/resources";
import { ExpiredError } from "../http/status-errors";
import { podView } from "../read/pod-view";
import { serviceAccountView } from "../read/views";
import { systemClock } from "../system";
import { StandIn } from "../testing/fake-server";
import { accounts, listOf, WatchServer } from "../testing/watch-server";
import { Watch } from "./watch";

const HOUR = 3_600_000;
const metrics = { count: () => undefined, show: () => undefined, watchAge: () => undefined };

function podText(namespace: string, name: string, bytes: number): string {
  const metadata = { uid: `${namespace}-${name}`, namespace, name, creationTimestamp: "2025-01-01T00:00:00Z" };
  const env = [{ name: "X", value: "x".repeat(bytes) }];
  return JSON.stringify({ metadata, spec: { containers: [{ name: "c", env }] }, status: {} });
}

/** An API server on a socket with these pods, in the order of a list. */
async function serve(pods: string[]) {
  const server = new StandIn((request, response) => {
    const { searchParams } = new URL(request.url ?? "/", "http://x");
    if (searchParams.get("watch") === "true") {
      response.writeHead(200).flushHeaders();
      return;
    }
    const from = Number(searchParams.get("continue") ?? 0);
    const end = from + Number(searchParams.get("limit"));
    const next = end < pods.length ? `,"continue":"${end}"` : "";
    const isMetadata = request.headers.accept?.includes("PartialObjectMetadataList") === true;
    const items = pods.slice(from, end).map(pod => (isMetadata ? JSON.stringify({ metadata: metadataOf(pod) }) : pod));
    // In pieces, so that the server does not block the event loop that it shares with the client.
    const pieces = items.flatMap((item, i) => [i === 0 ? "" : ",", item]);
    Readable.from([`{"metadata":{"resourceVersion":"5"${next}},"items":[`, ...pieces, "]}"]).pipe(response);
  });
  await server.start();
  const connection = new Connection(() => server.config(), systemClock);
  const stop = (): Promise<void> => {
    connection.close();
    return server.stop();
  };
  return { api: new Api(connection, systemClock, { userAgent: "t" }), stop };
}

function metadataOf(pod: string): unknown {
  return (JSON.parse(pod) as { metadata: unknown }).metadata;
}

function watchPods(api: Api, log = new RecordingLog()): Watch<PodView> {
  const context = { api, clock: systemClock, random: () => 0.2, log, metrics };
  return new Watch(context, { resource: KINDS.Pod, project: podView, onDelta: () => undefined });
}

describe("pods of all namespaces, where a tenant has many that are large", () => {
  it("are listed, and no more than one of them or 2 MiB is parsed in one piece (docs/adr/0019)", async () => {
    const large = Array.from({ length: 50 }, (_, i) => podText("a-tenant", `p${i}`, 1_400_000));
    const small = Array.from({ length: 200 }, (_, i) => podText("kai", `s${i}`, 20_000));
    const { api, stop } = await serve([...large, ...small]);
    const watch = watchPods(api);
    const parse = vi.spyOn(JSON, "parse");
    watch.start();
    await expect.poll(() => watch.trouble(), { interval: 20 }).toBeNull();
    const parsed = parse.mock.calls.map(([text]) => text.length);
    parse.mockRestore();
    expect([watch.find("kai", "s199")?.name, watch.views().length]).toEqual(["s199", 250]);
    expect(Math.max(...parsed)).toBeLessThanOrEqual(2 * 1024 * 1024);
    expect(parsed.length).toBeGreaterThanOrEqual(52);
    await watch.stop();
    await stop();
  });

  it("are known but for those of a namespace with one that is too large, which is named", async () => {
    const log = new RecordingLog();
    const { api, stop } = await serve([podText("a-tenant", "p", 5_000_000), podText("kai", "scheduler", 10)]);
    const watch = watchPods(api, log);
    watch.start();
    await expect.poll(() => watch.trouble()).toBeNull();
    expect(watch.views("kai").map(({ name }) => name)).toEqual(["scheduler"]);
    expect(() => watch.views("a-tenant")).toThrow("watch pods: a-tenant/p is too large to be read");
    expect(log.lines).toMatchObject([{ level: "error", fields: { namespace: "a-tenant", name: "p" } }]);
    await watch.stop();
    await stop();
  });
});

/** A watch of ServiceAccounts whose requests take 30 ms each. */
function begin(page: (index: number, limit: number) => unknown) {
  const server = new WatchServer();
  const { clock, asked } = server;
  server.list = async ({ query = {} }) => {
    await new Promise<void>(resolve => void clock.after(30, resolve));
    return page(Number(query["continue"] ?? 0), Number(query["limit"]));
  };
  const watch = new Watch<ServiceAccountView>(server.context, {
    ...{ resource: KINDS.ServiceAccount, project: serviceAccountView, onDelta: () => undefined },
  });
  watch.start();
  const stop = async (): Promise<void> => {
    const stopped = watch.stop();
    await clock.run(60_000);
    await stopped;
  };
  return { server, clock, lists: () => asked.filter(one => one === "list").length, watch, stop };
}

const listed = (version: string, names: string[], next?: number) => listOf(version, accounts(...names), next);

describe("a list of 100 pages", () => {
  it.each<[string, () => Error, number]>([
    ["429, Retry-After: 1", () => new WaitError("refused for now (429)", 1_000), 0.1],
    ["503, Retry-After: 5", () => new UnavailableError("503", 5_000), 0.1],
    ["a reset connection", () => new TransientError("ECONNRESET"), 0.1],
    ["429, Retry-After: 60, for one in a hundred", () => new WaitError("refused for now (429)", 60_000), 0.01],
  ])("is complete within five minutes although one request in ten fails: %s", async (_, failure, share) => {
    const random = seededRandom(3);
    const { clock, server, watch, stop } = begin(index =>
      random() < share ? failure() : listed("9", [], index < 99 ? index + 1 : undefined),
    );
    const startedMs = clock.monotonicMs();
    while (!watch.isFilled() && clock.monotonicMs() - startedMs < HOUR) await clock.run(1_000);
    expect(clock.monotonicMs() - startedMs).toBeLessThan(300_000);
    expect(server.lists.length).toBeLessThan(130);
    await stop();
  });

  it("is begun again if its continue token has expired", async () => {
    const answers = [listed("9", ["gone"], 1), new ExpiredError("old"), listed("12", ["a"], 1), listed("12", ["b"])];
    const { server, watch, stop, clock } = begin(() => answers.shift());
    await clock.run(5_000);
    expect(watch.views().map(({ name }) => name)).toEqual(["a", "b"]);
    expect(watch.version()).toBe("12");
    expect(server.asked).toEqual(["list", "page 1", "list", "page 1", "watch from 12"]);
    await stop();
  });

  it("has larger pages once its continue token has expired, so that it ends on a slow API server", async () => {
    const names = Array.from({ length: 10_000 }, (_, i) => `a${i}`);
    let begunMs = 0;
    const { watch, lists, stop, clock } = begin(async (index, limit) => {
      if (index === 0) begunMs = clock.monotonicMs();
      // etcd keeps the version of a list for five minutes, in which this API server answers fifty requests.
      if (clock.monotonicMs() - begunMs >= 300_000) throw new ExpiredError("too old");
      await new Promise<void>(resolve => void clock.after(6_000, resolve));
      return listed("9", names.slice(index, index + limit), index + limit < names.length ? index + limit : undefined);
    });
    for (let s = 0; s < 900 && !watch.isFilled(); s++) await clock.run(1_000);
    expect([watch.views().length, lists()]).toEqual([10_000, 2]);
    await stop();
  });

  it("gives a refusal with a long Retry-After to a caller that cannot wait", async () => {
    const server = new WatchServer();
    const answers = [listed("9", [], 1), new WaitError("429", 60_000)];
    server.list = () => answers.shift();
    const patience = { clock: server.clock, random: () => 0.5, longestMs: 10_000 };
    const pages = listPages(server.api, { resource: KINDS.Pod, limit: 1 }, { patience });
    await pages.next();
    await expect(pages.next()).rejects.toThrow(WaitError);
  });
});

it("keeps the cache as fresh as lists can make it while no watch can be opened", async () => {
  const late = new TimeoutError("timed out after 30 s");
  const { clock, server, lists, watch, stop } = begin(() => listed("9", ["a"]));
  server.refuse = () => new Promise(resolve => void clock.after(30_000, () => resolve(late)));
  for (let minute = 0; minute < 60; minute++) {
    await clock.run(60_000);
    expect(watch.trouble()).toBeNull();
  }
  expect(lists()).toBeLessThan(30);
  await stop();
});

it("lists again within two hours, since after a restore of etcd no event tells what is gone", async () => {
  let names = ["ghost"];
  const { clock, server, lists, watch, stop } = begin(() => listed("9", names));
  await clock.run(1_000);
  names = [];
  for (let minute = 0; minute < 120; minute++) {
    server.stream()?.push('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}\n');
    // The API server ends each watch after half an hour.
    if (minute % 30 === 29) server.stream()?.push(null);
    await clock.run(60_000);
  }
  expect([watch.views(), lists()]).toEqual([[], 2]);
  await stop();
});
