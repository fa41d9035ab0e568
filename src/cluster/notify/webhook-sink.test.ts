import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Notification } from "../../core/notifications";
import type { Log } from "../../core/ports";
import { FakeClock } from "../../core/testing/fake-clock";
import { systemClock } from "../system";
import type { Answer } from "./post";
import type { Receiver } from "./receiver";
import { WebhookSink, type WebhookContext } from "./webhook-sink";

const URL_TEXT = "http://hooks.example.com/secret-path";
const notification = (id: string, name = "web"): Notification => ({
  ...{ id, state: "Open", topic: "Stalled", condition: "Stalled", reason: "Forbidden", message: "m" },
  subject: { apiVersion: "v1", kind: "ControllerResilience", namespace: "team", name, uid: `uid-${name}` },
  ...{ since: "2025-01-02T00:00:00Z", time: "2025-01-02T00:00:00Z" },
});

let results: string[];
let lines: unknown[];
let clock: FakeClock;

const note = (...line: unknown[]): void => void lines.push(line);
const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };

/** A sink whose receiver gives these answers, the last one for ever. */
function sinkOf(...answers: (Answer | Error)[]) {
  return sinkTo(() => (answers.length > 1 ? answers.shift() : answers[0]) ?? code(200));
}

/** A sink whose receiver answers each notification so. */
function sinkTo(answerTo: (id: string) => Answer | Error | Promise<Answer>) {
  const sent: string[] = [];
  const send = async (_receiver: Receiver, { text }: { text: string }, signal: AbortSignal): Promise<Answer> => {
    const { id } = JSON.parse(text) as { id: string };
    sent.push(id);
    const aborted = new Promise<Error>(resolve => signal.addEventListener("abort", () => resolve(new Error("late"))));
    const answer = await Promise.race([answerTo(id), aborted]);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const read = (): Promise<Receiver> => Promise.resolve({ url: new URL(URL_TEXT), headers: {} });
  const metrics = { notified: (result: string) => void results.push(result) };
  const context: WebhookContext = { clock, random: () => 0.99, log, metrics, send, read };
  return { sink: new WebhookSink({ folder: "f", format: "cloudevents", cluster: "c" }, context), sent };
}

const code = (value: number, retryAfter?: string): Answer => ({ code: value, retryAfter });

beforeEach(() => {
  [results, lines, clock] = [[], [], new FakeClock()];
});

describe("the webhook", () => {
  it("retries until the receiver is back, in order, and never logs the address", async () => {
    const down = Object.assign(new Error(`connect ${URL_TEXT}`), { code: "ECONNREFUSED" });
    const { sink, sent } = sinkOf(down, code(500), code(401), code(204));
    sink.send(notification("a"));
    sink.send(notification("b"));
    await clock.run(120_000);
    expect(sent).toEqual(["a", "a", "a", "a", "b"]);
    expect(results).toEqual(["sent", "sent"]);
    expect(JSON.stringify(lines)).toContain("ECONNREFUSED");
    expect(JSON.stringify(lines)).not.toMatch(/secret-path|hooks/);
  });

  it.each(["60", new Date(new FakeClock().now().getTime() + 60_000).toUTCString()])(
    "waits as long as the receiver asks for: %s",
    async retryAfter => {
      const { sink, sent } = sinkOf(code(429, retryAfter), code(200));
      sink.send(notification("a"));
      await clock.run(55_000);
      expect(sent).toHaveLength(1);
      await clock.run(10_000);
      expect(sent).toHaveLength(2);
    },
  );

  it.each([302, 400, 404, 410])("gives up at once after %d", async refusal => {
    const { sink, sent } = sinkOf(code(refusal), code(200));
    sink.send(notification("a"));
    await clock.run(60_000);
    expect([sent, results]).toEqual([["a"], ["failed"]]);
  });

  it("gives up after an hour", async () => {
    const { sink } = sinkOf(code(503));
    sink.send(notification("a"));
    await clock.run(3_500_000);
    expect(results).toEqual([]);
    await clock.run(200_000);
    expect(results).toEqual(["failed"]);
  });

  it("bounds its queue, and its rate", async () => {
    const { sink, sent } = sinkOf(code(200));
    for (let i = 0; i < 300; i++) sink.send(notification(`${i}`, `web-${i}`));
    expect(results).toEqual(Array(100).fill("dropped"));
    await clock.run(30_000);
    expect(sent.length).toBeGreaterThanOrEqual(45);
    expect(sent.length).toBeLessThanOrEqual(55);
  });

  it.each<[string, () => Answer | Error | Promise<Answer>]>([
    ["is answered 500", () => code(500)],
    ["is answered 429", () => code(429, "20")],
    ["gets no answer", () => new Promise(() => undefined)],
  ])("delays those about other objects by less than a minute while one %s", async (_, fail) => {
    const { sink, sent } = sinkTo(id => (id.startsWith("bad") ? fail() : code(200)));
    for (const id of ["bad-1", "bad-2"]) sink.send(notification(id, "bad"));
    for (const id of ["a", "b", "c"]) sink.send(notification(id, id));
    await clock.run(45_000);
    expect(sent.filter(id => !id.startsWith("bad"))).toEqual(["a", "b", "c"]);
    await clock.run(600_000);
    sink.send(notification("late"));
    await clock.run(60_000);
    expect(sent).toContain("late");
    expect(sent).not.toContain("bad-2");
    await clock.run(3_600_000);
    expect(results.toSorted()).toEqual(["failed", "failed", "sent", "sent", "sent", "sent"]);
  });

  it("keeps the order of those about one object while others pass", async () => {
    let isDown = true;
    const { sink, sent } = sinkTo(id => code(isDown && id.startsWith("web") ? 503 : 200));
    for (const id of ["web-open", "web-resolved"]) sink.send(notification(id, "web"));
    sink.send(notification("api-open", "api"));
    await clock.run(60_000);
    isDown = false;
    await clock.run(60_000);
    expect(sent.filter((id, i) => id !== sent[i - 1]).slice(-2)).toEqual(["web-open", "web-resolved"]);
    expect(results).toEqual(["sent", "sent", "sent"]);
  });

  it("waits between any two requests while the receiver is down, for five minutes at most", async () => {
    const down = sinkTo(() => code(503));
    for (let i = 0; i < 50; i++) down.sink.send(notification(`${i}`, `web-${i}`));
    await clock.run(600_000);
    expect(down.sent.length).toBeLessThanOrEqual(27);
    const busy = sinkOf(code(429, "86400"), code(200));
    busy.sink.send(notification("a"));
    await clock.run(301_000);
    expect(busy.sent).toEqual(["a", "a"]);
  });

  it("keeps room for other objects", () => {
    const { sink } = sinkOf(code(503));
    for (let i = 0; i < 60; i++) sink.send(notification(`bad-${i}`, "bad"));
    expect(results).toEqual(Array(10).fill("dropped"));
    for (let i = 0; i < 150; i++) sink.send(notification(`${i}`, `web-${i}`));
    expect(results).toHaveLength(10);
  });

  it("makes room for new ones when the old ones are an hour late", async () => {
    const { sink } = sinkOf(code(503));
    for (let i = 0; i < 200; i++) sink.send(notification(`old-${i}`, `web-${i % 100}`));
    await clock.run(3_660_000);
    expect(results).toEqual(Array(200).fill("failed"));
    for (let i = 0; i < 200; i++) sink.send(notification(`new-${i}`, `web-${i}`));
    expect(results).toHaveLength(200);
  });

  it("still tries one that had to wait for another about its object", async () => {
    const { sink, sent } = sinkTo(id => code(id === "bad" ? 503 : 200));
    for (const id of ["bad", "next"]) sink.send(notification(id, "web"));
    sink.send(notification("other", "api"));
    await clock.run(3_660_000);
    expect(sent).toContain("next");
    expect(results.toSorted()).toEqual(["failed", "sent", "sent"]);
  });

  it("tries each waiting notification once more when it stops, and drops the rest", async () => {
    const { sink, sent } = sinkOf(code(503), code(503), code(200), code(503));
    for (const id of ["a", "b", "c"]) sink.send(notification(id));
    await clock.run(0);
    await sink.stop(500);
    sink.send(notification("d"));
    expect(sent).toEqual(["a", "a", "b", "c"]);
    expect(results).toEqual(["dropped", "sent", "dropped", "dropped"]);
  });
});

describe("over HTTP", () => {
  const folder = mkdtempSync(join(tmpdir(), "notify-"));
  const received: { headers: IncomingMessage["headers"]; body: string }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      received.push({ headers: request.headers, body });
      response.writeHead(202).end();
    });
  });

  afterEach(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  it("sends a CloudEvent, with the headers that the files have at that moment", async () => {
    await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
    const put = (name: string, text: string): void => writeFileSync(join(folder, name), text);
    put("url", `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook\n`);
    const metrics = { notified: (result: string) => void results.push(result) };
    const settings = { folder, format: "cloudevents", cluster: "c" } as const;
    const sink = new WebhookSink(settings, { clock: systemClock, random: () => 0, log, metrics });
    for (const token of ["one", "two"]) {
      put("header.Authorization", `Bearer ${token}\n`);
      sink.send(notification(token));
      await expect.poll(() => received.length).toBe(token === "one" ? 1 : 2);
    }
    await sink.stop(1_000);
    expect(results).toEqual(["sent", "sent"]);
    expect(received.map(({ headers }) => headers.authorization)).toEqual(["Bearer one", "Bearer two"]);
    expect(received[0]?.headers["content-type"]).toBe("application/cloudevents+json; charset=utf-8");
    expect(JSON.parse(received[0]?.body ?? "")).toMatchObject({ specversion: "1.0", id: "one" });
  });
});
