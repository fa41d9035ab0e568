import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createLogger } from "./logger";
import { type HealthCheck, HealthServer } from "./health-server";

const log = createLogger({ level: "error", destination: { write: () => undefined } });
const NOTHING = {
  host: "127.0.0.1",
  port: 0,
  health: [],
  readiness: [],
  metrics: () => Promise.resolve(""),
  log,
};

/** Less than the 30 s between two looks that Node takes by itself at what has waited for too long. */
const SILENCE_MS = 29_000;

let server: HealthServer | undefined;
afterEach(() => server?.stop());

async function serve(checks: { health?: HealthCheck[]; readiness?: HealthCheck[]; metrics?: () => Promise<string> }) {
  server = new HealthServer({ ...NOTHING, ...checks });
  return asking(await server.start());
}

function asking(port: number) {
  return async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
    return { code: response.status, text: await response.text(), type: response.headers.get("content-type") };
  };
}

describe("the health server", () => {
  it("says that all is well, check by check", async () => {
    const ask = await serve({ health: [{ name: "loop", trouble: () => null }] });
    expect(await ask("/healthz")).toMatchObject({ code: 200, text: "[+]loop ok\nhealthz check passed\n" });
    expect(await ask("/readyz?verbose")).toMatchObject({ code: 200, text: "readyz check passed\n" });
  });

  it("says what is wrong in words, on one line each, also if the check itself fails", async () => {
    const ask = await serve({
      readiness: [
        { name: "list", trouble: () => null },
        { name: "watches", trouble: () => "watch pods in kai:\nstale for 300 s" },
        {
          name: "bug",
          trouble: () => {
            throw new Error("no such thing");
          },
        },
      ],
    });
    expect(await ask("/readyz")).toMatchObject({
      code: 503,
      text: "[+]list ok\n[-]watches failed: watch pods in kai: stale for 300 s\n[-]bug failed: no such thing\nreadyz check failed\n",
    });
    expect((await ask("/healthz")).code).toBe(200);
  });

  it("gives metrics, or says why it can't", async () => {
    let broken = false;
    const ask = await serve({ metrics: () => (broken ? Promise.reject(new Error("no")) : Promise.resolve("a 1\n")) });
    const type = "text/plain; version=0.0.4; charset=utf-8";
    expect(await ask("/metrics")).toEqual({ code: 200, text: "a 1\n", type });
    broken = true;
    expect(await ask("/metrics")).toMatchObject({ code: 500, text: "metrics: no\n" });
  });

  it("refuses everything else", async () => {
    const ask = await serve({});
    expect((await ask("/")).code).toBe(404);
    expect((await ask("/healthz", { method: "POST", body: "x" })).code).toBe(405);
    expect(await ask("/healthz", { method: "HEAD" })).toMatchObject({ code: 200, text: "" });
  });

  it("closes connections that say nothing, so that they can't keep probes out", { timeout: SILENCE_MS }, async () => {
    server = new HealthServer(NOTHING);
    const port = await server.start();
    const silent = Array.from({ length: 32 }, () => connect(port, "127.0.0.1").resume());
    await Promise.all(silent.map(socket => once(socket, "connect")));
    await expect(asking(port)("/healthz")).rejects.toThrow();
    await Promise.all(silent.map(socket => once(socket, "close")));
    expect(await asking(port)("/healthz")).toMatchObject({ code: 200 });
  });

  it("says so when its port is taken", async () => {
    server = new HealthServer(NOTHING);
    const port = await server.start();
    const second = new HealthServer({ ...NOTHING, port });
    await expect(second.start()).rejects.toThrow("EADDRINUSE");
  });
});
