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
const notification = (id: string): Notification => ({
  ...{ id, state: "Open", topic: "Stalled", condition: "Stalled", reason: "Forbidden", message: "m" },
  subject: { apiVersion: "v1", kind: "ControllerResilience", namespace: "team", name: "web", uid: "u" },
  ...{ since: "2025-01-02T00:00:00Z", time: "2025-01-02T00:00:00Z" },
});

let results: string[];
let lines: unknown[];
let clock: FakeClock;

const note = (...line: unknown[]): void => void lines.push(line);
const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };

/** A sink whose receiver gives these answers, the last one for ever. */
function sinkOf(...answers: (Answer | Error)[]) {
  const sent: string[] = [];
  const send = (_receiver: Receiver, { text }: { text: string }): Promise<Answer> => {
    sent.push((JSON.parse(text) as { id: string }).id);
    const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? code(200);
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
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
    for (let i = 0; i < 300; i++) sink.send(notification(`${i}`));
    expect(results).toEqual(Array(99).fill("dropped"));
    await clock.run(30_000);
    expect(sent.length).toBeGreaterThanOrEqual(45);
    expect(sent.length).toBeLessThanOrEqual(55);
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
