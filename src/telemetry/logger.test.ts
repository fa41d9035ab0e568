import { describe, expect, it } from "vitest";
import type { Log } from "../core/ports";
import { FakeClock } from "../core/testing/fake-clock";
import { countRepeatedFailures, createLogger, type LogLevel } from "./logger";

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

type Line = readonly [level: string, fields: object, message: string];

function makeLog() {
  const lines: Line[] = [];
  const clock = new FakeClock();
  const inner = (bound: object): Log => {
    const at = (level: string) => (fields: object, message: string) =>
      void lines.push([level, { ...bound, ...fields }, message]);
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      child: fields => inner({ ...bound, ...fields }),
    };
  };
  const log = countRepeatedFailures(inner({}), clock);
  const seen = (): Line[] => lines.splice(0).filter(([level]) => level !== "debug");
  return { log, clock, seen, lines };
}

const fail = (log: Log, what: string, cause = "unable to verify the first certificate"): void =>
  log.warn({ watch: what, error: `${what}: ${cause}` }, "watch failed, backing off");

it("logs failures of one kind once, then once per minute with the number left out", () => {
  const { log, clock, seen } = makeLog();
  for (let i = 0; i <= 60; i++) {
    fail(log.child({ key: `team/${i}` }), `watch ${i}`);
    clock.advance(1_000);
  }
  const error = "unable to verify the first certificate";
  expect(seen()).toEqual([
    ["warn", { key: "team/0", watch: "watch 0", error: `watch 0: ${error}` }, "watch failed, backing off"],
    [
      "warn",
      { key: "team/60", watch: "watch 60", error: `watch 60: ${error}`, repeated: 59 },
      "watch failed, backing off",
    ],
  ]);
  clock.advance(3_600_000);
  expect(seen()).toEqual([]);
  fail(log, "watch");
  expect(seen()).toMatchObject([["warn", { watch: "watch" }, "watch failed, backing off"]]);
});

it("tells kinds apart by level, message and cause", () => {
  const { log, seen } = makeLog();
  fail(log, "watch a");
  fail(log, "watch a", "forbidden (403)");
  log.error({ error: "watch a: forbidden (403)" }, "watch failed, backing off");
  log.warn({ error: "list: forbidden (403)" }, "observe failed");
  expect(seen()).toHaveLength(4);
});

it("keeps what is left out at level debug", () => {
  const { log, lines } = makeLog();
  fail(log, "a");
  fail(log, "b");
  expect(lines.map(([level]) => level)).toEqual(["warn", "debug"]);
});

it("leaves every line without an error as it is", () => {
  const { log, seen } = makeLog();
  for (let i = 0; i < 3; i++) {
    log.warn({ why: "another holder" }, "stopped leading");
    log.info({ error: "no" }, "starting");
    log.debug({}, "x");
  }
  expect(seen()).toHaveLength(6);
});

it("counts a bounded number of kinds, and logs what it has forgotten in full", () => {
  const { log, seen } = makeLog();
  for (let i = 0; i < 300; i++) fail(log, "a", `cause ${i}`);
  for (let i = 200; i < 300; i++) fail(log, "a", `cause ${i}`);
  expect(seen()).toHaveLength(300);
  fail(log, "a", "cause 0");
  expect(seen()).toHaveLength(1);
});
