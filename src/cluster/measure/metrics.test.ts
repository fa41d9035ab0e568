import type { RequestListener } from "node:http";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ForbiddenError, TerminalError, TransientError } from "../../core/errors";
import { FakeClock, settle } from "../../core/testing/fake-clock";
import { Api, TimeoutError } from "../http/api";
import { Connection } from "../http/connection";
import { parseSample } from "../../core/pod-metrics";
import { StandIn } from "../testing/fake-server";
import { readLines } from "./metrics";

describe("the lines of an API server's metrics", () => {
  let server: StandIn;
  let clock: FakeClock;
  let connection: Connection;
  let api: Api;

  beforeEach(async () => {
    server = new StandIn();
    await server.start();
    clock = new FakeClock();
    connection = new Connection(() => server.config(), clock);
    api = new Api(connection, clock, { userAgent: "controller-resilience/test" });
  });

  afterEach(async () => {
    connection.close();
    await server.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  async function all(): Promise<string[]> {
    const lines: string[] = [];
    await readLines({ api, clock }, line => void lines.push(line));
    return lines;
  }

  const TEXT = "a 1\nb 2\n\nc 3\n";
  const LINES = ["a 1", "b 2", "c 3"];

  it("are decompressed if the server compresses them", async () => {
    server.handler = (request, response) => {
      expect([request.url, request.headers["accept-encoding"]]).toEqual(["/metrics", "gzip"]);
      response.writeHead(200, { "Content-Encoding": "gzip" }).end(gzipSync(TEXT));
    };
    expect(await all()).toEqual(LINES);
    server.handler = (_, response) => response.end(TEXT);
    expect(await all()).toEqual(LINES);
  });

  it.each(["plain", "gzip"])("are streamed, and the stream stops when the reader stops: %s", async kind => {
    let closed: Promise<unknown> = Promise.resolve();
    server.handler = (_, response) => {
      closed = new Promise(resolve => response.on("close", resolve));
      if (kind === "gzip") response.setHeader("Content-Encoding", kind);
      response.write(kind === "gzip" ? gzipSync("a 1\n", { level: 0 }) : "a 1\n");
    };
    const stop = (line: string): void => {
      throw new TerminalError(`enough after ${line}`);
    };
    await expect(readLines({ api, clock }, stop)).rejects.toThrow("enough after a 1");
    await closed;
  });

  it.each<[string, RequestListener, new (message: string) => Error, string]>([
    [
      "a body that is cut off",
      (_, response) => void response.write(TEXT, () => response.destroy()),
      TransientError,
      "get /metrics: aborted",
    ],
    [
      "a body that ends early without an error",
      (_, response) => {
        response.useChunkedEncodingByDefault = false;
        response.writeHead(200, { Connection: "close" }).end("a 1\nb ");
      },
      TransientError,
      "get /metrics: expected a line break at the end, got a truncated line",
    ],
    [
      "a compressed body that is cut off",
      (_, response) => {
        const packed = gzipSync(TEXT);
        response.writeHead(200, { "Content-Encoding": "gzip" }).end(packed.subarray(0, packed.length - 9));
      },
      TransientError,
      "get /metrics: unexpected end of file",
    ],
    [
      "a body that is not in its declared encoding",
      (_, response) => response.writeHead(200, { "Content-Encoding": "gzip" }).end(TEXT),
      TransientError,
      "get /metrics: incorrect header check",
    ],
    [
      "a refusal",
      (_, response) => response.writeHead(403).end('{"kind":"Status","message":"no right"}'),
      ForbiddenError,
      "get /metrics: forbidden (403): no right",
    ],
    [
      "a line without end",
      (_, response) => response.end("x".repeat(100_000)),
      TransientError,
      "expected lines of at most 65536 bytes, got a longer one",
    ],
    [
      "a small body that decompresses to a huge one",
      (_, response) => {
        const line = Buffer.alloc(60_000, "x").fill("\n", 59_999);
        const packed = gzipSync(Buffer.concat(Array.from({ length: 500 }, () => line)));
        response.writeHead(200, { "Content-Encoding": "gzip" });
        // Concatenated gzip members form one body.
        response.end(Buffer.concat(Array.from({ length: 9 }, () => packed)));
      },
      TerminalError,
      "get /metrics: expected at most 268435456 bytes, got more",
    ],
  ])("%s is an error", async (_, listener, type, message) => {
    server.handler = listener;
    const error = await all().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(type);
    expect((error as Error).message).toBe(message);
  });

  it.each<[string, RequestListener]>([
    ["never answers", () => undefined],
    ["stops in the middle", (_, response) => void response.write("a 1\nb")],
    [
      "sends bytes slowly forever",
      (_, response) => {
        const timer = setInterval(() => response.write("a 1\n"), 1);
        response.on("close", () => clearInterval(timer));
      },
    ],
  ])("time out for a server that %s", async (_, listener) => {
    server.handler = listener;
    const arrived = server.arrival();
    const refused = expect(all()).rejects.toThrow(TimeoutError);
    await arrived;
    for (let i = 0; i < 20; i++) await settle();
    await clock.run(15_000);
    await refused;
  });
});

const read = (line: string) => {
  const sample = parseSample(line);
  return sample && { ...sample, labels: Object.fromEntries(sample.labels) };
};

describe("a line of Prometheus' text format", () => {
  it.each<[string, ReturnType<typeof read>]>([
    ["up 1", { name: "up", labels: {}, value: 1 }],
    ["up{} 1", { name: "up", labels: {}, value: 1 }],
    ['a{b="c",d="e"} 1.234e+06', { name: "a", labels: { b: "c", d: "e" }, value: 1_234_000 }],
    ['a{b="{}, #"} NaN', { name: "a", labels: { b: "{}, #" }, value: NaN }],
    ['a{le="+Inf"} +Inf', { name: "a", labels: { le: "+Inf" }, value: NaN }],
    ["a one", { name: "a", labels: {}, value: NaN }],
  ])("%s", (line, sample) => {
    expect(read(line)).toEqual(sample);
  });

  const OTHERS = ["", "# HELP a One.", "# a 1", "a", "a 1 2", "a.5", "1a 1", 'a{b="c"}', "a{,} 1", "a{b=c} 1"];
  it.each([...OTHERS, String.raw`a{b="x\"y"} 1`, '{"a.b",c="d"} 1', 'a{b="c"} 1 # {trace="x"} 1'])(
    "is not a sample: %s",
    line => expect(parseSample(line)).toBeNull(),
  );

  it("is parsed in linear time, whatever its content", () => {
    const used = process.cpuUsage();
    for (const text of [
      "a{".padEnd(60_000, "b"),
      'a{b="'.padEnd(60_000, "\\n"),
      "a ".padEnd(60_000, " "),
      'a{b="'.padEnd(60_000, "c"),
      "a{".padEnd(60_000, 'b="",'),
    ])
      expect(parseSample(text)).toBeNull();
    expect(process.cpuUsage(used).user).toBeLessThan(1_000_000);
  });
});
