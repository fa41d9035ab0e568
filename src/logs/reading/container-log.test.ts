import { describe, expect, it } from "vitest";
import { BusyClock } from "../../core/testing/busy-clock";
import { FakeClock } from "../../core/testing/fake-clock";
import { MAX_RECORD_BYTES } from "../classifier/scan-log";
import { ContainerLog, lastRecord } from "./container-log";
import { findByClass as find } from "../detector";
import { persistenceOf } from "../persistence";
import { container, pod } from "../../core/testing/views";
import { FakeLogs } from "../testing/fake-logs";

const RULE = { occasions: 3, windowMs: 900_000, minDurationMs: 60_000 };
const UNAUTHORIZED =
  'E0101 00:00:00.000000 1 reflector.go:227] "Failed to watch" err="failed to list *v1.Pod: Unauthorized"';

function setUp(): { clock: FakeClock; logs: FakeLogs; log: ContainerLog; write: (...texts: string[]) => void } {
  const clock = new FakeClock();
  const logs = new FakeLogs();
  logs.write("web-5d-a", "main");
  return {
    clock,
    logs,
    log: new ContainerLog(),
    write: (...texts) => {
      for (const text of texts) logs.write("web-5d-a", "main", { ms: clock.now().getTime(), text });
    },
  };
}

describe("a container's log", () => {
  it("becomes persistent over several reads", async () => {
    const { clock, logs, log, write } = setUp();
    for (let i = 0; i <= 12; i++) {
      write("all is well", UNAUTHORIZED);
      await log.read({ clock, logs }, pod(), container(), find);
      expect(persistenceOf(log.traces.unauthorized, RULE, clock.now().getTime()).state).toBe(
        i < 12 ? "suspected" : "persistent",
      );
      clock.advance(5_000);
    }
    expect(log.traces.unauthorized.occasions).toHaveLength(13);
  });

  it("without lines is read by the same request for all who began to read it in one minute", async () => {
    const { clock, logs, log } = setUp();
    const other = new ContainerLog();
    for (const one of [log, other, log, other]) {
      await one.read({ clock, logs }, pod(), container(), find);
      clock.advance(5_000);
    }
    const [first, , ...later] = logs.requests;
    expect(later[0]).toEqual(later[1]);
    expect(first?.sinceMs).toBe(Date.parse("2024-12-31T23:45:00Z"));
  });

  it("finds a record whose lines arrive in two reads", async () => {
    const { clock, logs, log, write } = setUp();
    write("kubernetes.client.exceptions.ApiException: (401)");
    await log.read({ clock, logs }, pod(), container(), find);
    write("Reason: Unauthorized", "all is well");
    await log.read({ clock, logs }, pod(), container(), find);
    expect(log.traces.unauthorized.occasions).toHaveLength(1);
  });

  it("takes back a 401 when its record goes on and is another server's", async () => {
    const { clock, logs, log, write } = setUp();
    write("all is well", "Error: (401)");
    await log.read({ clock, logs }, pod(), container(), find);
    expect(log.traces.unauthorized.occasions).toHaveLength(1);
    clock.advance(5_000);
    write("Reason: Unauthorized", 'HTTP response body: {"error":"no session"}');
    await log.read({ clock, logs }, pod(), container(), find);
    expect(log.traces.unauthorized.occasions).toEqual([]);
  });

  it("leaves out what a log shipper prints for other pods", async () => {
    const { clock, logs, log, write } = setUp();
    const shipped = (name: string): string =>
      JSON.stringify({ log: UNAUTHORIZED, kubernetes: { pod_name: name, namespace_name: pod().namespace } });
    write(shipped("another-pod"), "all is well");
    await log.read({ clock, logs }, pod(), container(), find);
    expect(log.traces.unauthorized.occasions).toHaveLength(0);
    write(shipped(pod().name), "all is well");
    await log.read({ clock, logs }, pod(), container(), find);
    expect(log.traces.unauthorized.occasions).toHaveLength(1);
  });

  it("counts the last lines of the previous life, then those of the new one", async () => {
    const { clock, logs, log, write } = setUp();
    write("all is well");
    await log.read({ clock, logs }, pod(), container(), find);
    clock.advance(5_000);
    write(UNAUTHORIZED);
    logs.restart("web-5d-a", "main");
    clock.advance(10_000);
    write(UNAUTHORIZED);
    await log.read({ clock, logs }, pod(), container({ restartCount: 1 }), find);
    // Nothing was lost, so the silence before each 401 counts.
    expect(log.traces.unauthorized.occasions.map(({ quietMs }) => quietMs)).toEqual([5_000, 0]);
  });

  it("continues at the same position after a failed read", async () => {
    const { clock, logs, log, write } = setUp();
    write(UNAUTHORIZED);
    await log.read({ clock, logs }, pod(), container(), find);
    const trace = log.traces.unauthorized;
    logs.before = () => Promise.reject(new Error("timed out"));
    clock.advance(5_000);
    write(UNAUTHORIZED);
    await expect(log.read({ clock, logs }, pod(), container(), find)).rejects.toThrow("timed out");
    expect(log.traces.unauthorized).toBe(trace);
    logs.before = () => undefined;
    await log.read({ clock, logs }, pod(), container(), find);
    expect(log.traces.unauthorized.occasions).toHaveLength(2);
  });

  it("jumps to the end of a log that is written faster than it can be read, and counts a gap", async () => {
    const { clock, logs, log, write } = setUp();
    // Two lines of one second: the next answer begins with a line before the last one, so nothing has to be requested twice.
    write("first");
    clock.advance(1);
    write("second");
    await log.read({ clock, logs }, pod(), container(), find);
    const text = "x".repeat(200_000);
    for (let i = 0; i < 300; i++) {
      clock.advance(1_000);
      write(text);
    }
    await log.read({ clock, logs }, pod(), container(), find);
    expect(log.traces.unauthorized.quietMs).toBe(43_001);
    for (let i = 0; i < 2_000; i++) write("short");
    clock.advance(1);
    write(UNAUTHORIZED);
    await log.read({ clock, logs }, pod(), container(), find);
    // The part that was not read does not count as silence.
    expect(log.traces.unauthorized.occasions.map(({ quietMs }) => quietMs)).toEqual([1]);
  });

  it("is not silent after the clock of its node, which was a day ahead, is set back", async () => {
    const { clock, logs, log, write } = setUp();
    clock.advance(86_400_000);
    write("started");
    clock.advance(-86_400_000);
    await log.read({ clock, logs }, pod(), container(), find);
    for (let i = 0; i < 60; i++) {
      clock.advance(5_000);
      write(UNAUTHORIZED);
      await log.read({ clock, logs }, pod(), container(), find);
    }
    expect(log.traces.unauthorized.occasions).toHaveLength(60);
    expect(log.skippedAtMs).toBeDefined();
  });

  it("is read although the operator's clock, which was an hour ahead when it was first wanted, is set back", async () => {
    const { clock, logs, log, write } = setUp();
    clock.jumpWall(3_600_000);
    await log.read({ clock, logs }, pod(), container(), find);
    clock.jumpWall(-3_600_000);
    write(UNAUTHORIZED);
    await log.read({ clock, logs }, pod(), container(), find);
    expect(log.traces.unauthorized.occasions).toHaveLength(1);
  });

  it("counts a 401 of before its node's clock was set back once, however often it is read", async () => {
    const { clock, logs, log, write } = setUp();
    clock.advance(3_600_000);
    write(UNAUTHORIZED);
    clock.advance(-3_600_000);
    for (let i = 0; i < 10; i++) {
      write("all is well");
      await log.read({ clock, logs }, pod(), container(), find);
      clock.advance(30_000);
    }
    expect(log.traces.unauthorized.occasions).toHaveLength(1);
  });

  it("counts lines from the future as logged now", async () => {
    const { clock, logs, log } = setUp();
    const now = clock.now().getTime();
    logs.write("web-5d-a", "main", { ms: now + 3_600_000, text: UNAUTHORIZED });
    await log.read({ clock, logs }, pod(), container(), find);
    expect(log.traces.unauthorized.occasions[0]?.startMs).toBe(now);
  });

  it("yields to the event loop while it reads a log of nothing but 401s", async () => {
    const { clock, logs, log, write } = setUp();
    const busy = new BusyClock(clock);
    write(...Array.from({ length: 2_000 }, () => UNAUTHORIZED));
    await log.read({ clock: busy, logs }, pod(), container(), find);
    // Each record takes it a millisecond, and a turn is ten of them.
    expect(busy.turns).toBeGreaterThanOrEqual(190);
    expect(log.traces.unauthorized.occasions).toHaveLength(1);
  });

  it("requests a bounded number of bytes from a log of any size", async () => {
    const { clock, logs, log, write } = setUp();
    write(...Array.from({ length: 100 }, () => "y".repeat(300_000)));
    await log.read({ clock, logs }, pod(), container(), find);
    expect(logs.requests.length).toBeLessThanOrEqual(4);
    expect(logs.requests.reduce((sum, request) => sum + request.limitBytes, 0)).toBeLessThan(10 * 1024 * 1024);
  });
});

it("of a chunk nothing but the bytes of the last record are kept, and none of one that is longer than the longest", () => {
  const last = Buffer.from(`2025-01-01T00:00:01Z ${UNAUTHORIZED} \u00e9\n`);
  const chunk = Buffer.concat([Buffer.from("2025-01-01T00:00:00Z first\n"), last]);
  expect(Buffer.from(lastRecord(chunk), "latin1")).toEqual(last);
  expect(lastRecord(Buffer.from(`2025-01-01T00:00:00Z ${"x".repeat(MAX_RECORD_BYTES)}\n`))).toBe("");
});
