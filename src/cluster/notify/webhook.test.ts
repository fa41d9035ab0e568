import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EventRecord, Log } from "../../core/ports";
import { FakeClock } from "../../core/testing/fake-clock";
import { systemClock } from "../system";
import { authority, issue, named } from "../testing/certificates";
import { StandIn } from "../testing/fake-server";
import { Webhook } from "./webhook";

const SECRET = "secret-path";
const warning = (note: string, more: Partial<EventRecord> = {}): EventRecord => ({
  regarding: { apiVersion: "v1", kind: "ControllerResilience", namespace: "team", name: "web", uid: "u" },
  ...{ type: "Warning", reason: "Rejected", action: "Reconcile", note },
  ...more,
});

let folder: string;
let server: StandIn;
/** What the server answers, in order; the last one for ever. */
let codes: number[];
let received: { headers: IncomingMessage["headers"]; body: { id: string; data: { note: string } } }[];
let results: string[];
let lines: unknown[];

const note = (...line: unknown[]): void => void lines.push(line);
const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
const put = (name: string, text: string): void => writeFileSync(join(folder, name), text);
const notes = (): string[] => received.map(({ body }) => body.data.note);

function webhook(clock: FakeClock | typeof systemClock = systemClock): Webhook {
  const metrics = { count: (_: string, { result = "" }: { result?: string }) => void results.push(result) };
  return new Webhook({ folder, format: "cloudevents", cluster: "c" }, { clock, random: () => 0, log, metrics });
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "notify-"));
  [codes, received, results, lines] = [[202], [], [], []];
  server = new StandIn((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      received.push({ headers: request.headers, body: JSON.parse(body) as never });
      const code = codes.length > 1 ? codes.shift() : codes[0];
      response.writeHead(code ?? 202, { location: "/elsewhere" }).end(SECRET);
    });
  });
  put("url", `${await server.start()}/${SECRET}\n`);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await server.stop();
  rmSync(folder, { recursive: true });
});

describe("an Event", () => {
  it("is posted if it is a Warning or later about its object alone, with the headers that the files have at that moment", async () => {
    const sink = webhook();
    put("header.Authorization", "Bearer one\n");
    sink.record(warning("before", { type: "Normal" }));
    sink.record(warning("one"));
    const related = { apiVersion: "v1", kind: "Pod", namespace: "team", name: "web-1" };
    sink.record(warning("done", { type: "Normal", related }));
    await expect.poll(() => results).toEqual(["sent"]);
    put("header.Authorization", "Bearer two\n");
    sink.record(warning("over", { type: "Normal" }));
    sink.record(warning("of another", { type: "Normal", regarding: related }));
    await expect.poll(() => results).toEqual(["sent", "sent"]);
    expect(notes()).toEqual(["one", "over"]);
    expect(received.map(({ headers }) => headers.authorization)).toEqual(["Bearer one", "Bearer two"]);
    expect(received[0]?.headers["content-type"]).toBe("application/cloudevents+json; charset=utf-8");
  });

  it("has a note of one line, at most 1,024 characters long", async () => {
    webhook().record(warning(`a\nb\u001b[31m${"x".repeat(2_000)}`));
    await expect.poll(() => results).toEqual(["sent"]);
    expect(notes()[0]).toMatch(/^a b \[31mx+/);
    expect(notes()[0]?.length).toBeLessThanOrEqual(1_024);
  });

  it.each([500, 503, 401, 403, 408, 425, 429])(
    "is sent again after a %d, with the same id and in order",
    async code => {
      codes = [code, code, 202];
      const sink = webhook();
      for (const text of ["one", "two"]) sink.record(warning(text));
      await expect.poll(() => results).toEqual(["sent", "sent"]);
      expect(notes()).toEqual(["one", "one", "one", "two"]);
      expect(new Set(received.slice(0, 3).map(({ body }) => body.id)).size).toBe(1);
    },
  );

  it.each([302, 400, 404, 410])("is lost after a %d, and holds up no other", async code => {
    codes = [code, 202];
    const sink = webhook();
    for (const text of ["one", "two"]) sink.record(warning(text));
    await expect.poll(() => results).toEqual(["failed", "sent"]);
    expect(notes()).toEqual(["one", "two"]);
  });

  it("is given up after an hour", async () => {
    codes = [503];
    const clock = new FakeClock();
    const sink = webhook(clock);
    sink.record(warning("one"));
    // Time goes on only once a request to the real server has failed, which the log says.
    for (let failures = 1; results.length === 0 && failures < 200; failures++) {
      await vi.waitFor(() => expect(lines.length).toBeGreaterThanOrEqual(failures), { timeout: 100_000, interval: 2 });
      await clock.run(60_000);
    }
    expect(results).toEqual(["failed"]);
  });

  it("is dropped if 200 wait, and after the stop", async () => {
    await server.stop();
    const sink = webhook();
    for (let i = 0; i < 202; i++) sink.record(warning(`${i}`));
    expect(results).toEqual(["dropped"]);
    await sink.stop(50);
    sink.record(warning("late"));
    expect(results).toEqual(Array(203).fill("dropped").slice(0, results.length));
    expect(results).toHaveLength(203);
  });
});

it("says what is wrong with the file url", async () => {
  put("url", SECRET);
  const sink = webhook();
  sink.record(warning("one"));
  await expect.poll(() => JSON.stringify(lines)).toContain("expected one http or https address");
  await sink.stop(0);
  expect(JSON.stringify(lines)).not.toContain(SECRET);
});

it("sends no headers to a receiver without a trusted certificate, whatever the environment says", async () => {
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  await server.stop();
  const ca = authority();
  const { key, certificate: cert } = issue("receiver", named("127.0.0.1"), ca);
  server = new StandIn(server.handler, { key, cert });
  put("url", await server.start());
  put("header.Authorization", SECRET);
  const sink = webhook();
  sink.record(warning("one"));
  await expect.poll(() => lines.length + results.length).toBe(1);
  expect([JSON.stringify(lines), server.requests]).toEqual([expect.stringContaining("cannot be reached"), []]);
  put("ca.crt", ca.certificate);
  await expect.poll(() => results).toEqual(["sent"]);
  await sink.stop(0);
});

it("logs neither the address nor an answer", async () => {
  codes = [404, 503, 202];
  const sink = webhook();
  for (const text of ["one", "two"]) sink.record(warning(text));
  await expect.poll(() => results).toEqual(["failed", "sent"]);
  await server.stop();
  sink.record(warning("three"));
  await expect.poll(() => JSON.stringify(lines)).toContain("the receiver cannot be reached (ECONNREFUSED)");
  await sink.stop(0);
  expect(JSON.stringify(lines)).not.toContain(SECRET);
});
