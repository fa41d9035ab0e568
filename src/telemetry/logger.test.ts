import { describe, expect, it } from "vitest";
import { createLogger, type LogLevel } from "./logger";

function logged(level: LogLevel = "debug") {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  return { log: createLogger({ level, destination: { write } }), lines };
}

describe("the logger", () => {
  it("writes one JSON object per line, with level and time in words", () => {
    const { log, lines } = logged();
    log.child({ component: "watch" }).warn({ resource: "pods" }, "watch ended");
    expect(lines).toEqual([
      {
        level: "warn",
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown,
        component: "watch",
        resource: "pods",
        msg: "watch ended",
      },
    ]);
  });

  it("says nothing below its level", () => {
    const { log, lines } = logged("warn");
    log.debug({}, "a");
    log.info({}, "b");
    log.error({}, "c");
    expect(lines.map(line => line["msg"])).toEqual(["c"]);
  });

  it("hides what must never have come here", () => {
    const { log, lines } = logged();
    const jwt = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJlMTIz";
    log.info({ token: "a-secret", request: { headers: { Authorization: "Bearer a-secret" } } }, "m");
    log.info({ error: `refused: Bearer a-secret-token and ${jwt}` }, "m");
    const text = JSON.stringify(lines);
    expect(text).not.toContain("a-secret");
    expect(text).not.toContain(jwt);
    expect(text.match(/\[redacted\]/g)).toHaveLength(4);
  });

  it("searches texts at any depth", () => {
    const { log, lines } = logged();
    log.warn(
      { outcome: { result: "Failed", message: "Bearer a-secret-token" }, list: [{ a: ["Bearer a-secret-token"] }] },
      "m",
    );
    expect(JSON.stringify(lines)).not.toContain("a-secret");
    expect(lines[0]).toMatchObject({ outcome: { result: "Failed", message: "[redacted]" } });
  });

  it("cuts a text that would flood the log", () => {
    const { log, lines } = logged();
    log.info({ error: "x".repeat(1_000_000) }, "m");
    expect(String(lines[0]?.["error"])).toHaveLength(4_096);
  });
});
