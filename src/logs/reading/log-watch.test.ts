import { beforeEach, describe, expect, it } from "vitest";
import { ForbiddenError, NotYetError, TransientError } from "../../core/errors";
import type { RoundsLog } from "../../core/readers";
import { FakeClock } from "../../core/testing/fake-clock";
import { UNKNOWN_REFUSALS } from "../../core/testing/immediate-rounds";
import { container, pod } from "../../core/testing/views";
import { FakeLogs } from "../testing/fake-logs";
import { UNAUTHORIZED } from "../../remedies/token-restart/testing/scene";
import { findByClass as find } from "../detector";
import { LogWatch, type Watched } from "./log-watch";
import { Rounds } from "./rounds";

const RULE = { occasions: 3, windowMs: 900_000, minDurationMs: 60_000 };
const SEARCH = { find, rule: RULE };

let clock: FakeClock;
let logs: FakeLogs;
let passes: number;
let rounds: Rounds;
let watch: LogWatch;

beforeEach(() => {
  clock = new FakeClock("2025-01-01T12:00:00Z");
  logs = new FakeLogs();
  passes = 0;
  const ports = {
    clock,
    isLeader: () => true,
    metrics: { show: () => undefined },
  };
  rounds = new Rounds({ ...ports, refusals: UNKNOWN_REFUSALS, requestPass: () => void passes++ });
  watch = new LogWatch("team/it");
});

function watched(name = "web-5d-a"): Watched {
  return { pod: pod({ name, uid: name }), container: container(), suspicious: false };
}

const want = (...items: Watched[]): Promise<void> => watch.want({ clock, logs, rounds }, items, SEARCH);
const found = (item = watched()) => watch.finding(item);
const log401 = (): void => logs.write("web-5d-a", "main", { ms: clock.now().getTime(), text: UNAUTHORIZED });

/** Wants the log, and lets it be read for the first time. */
async function begin(): Promise<void> {
  logs.write("web-5d-a", "main", { ms: clock.now().getTime(), text: "started" });
  await want(watched()).catch(() => undefined);
  await clock.run(10);
}

describe("the first pass", () => {
  it("ends early while the first logs are being read, and the read requests the next one", async () => {
    await expect(want(watched())).rejects.toThrow(NotYetError);
    await clock.run(10);
    expect(passes).toBe(1);
    await want(watched());
    expect(found()).toMatchObject({ isNew: false, persistence: { state: "quiet" } });
  });

  it("waits for some seconds only", async () => {
    logs.before = () => new Promise<never>(() => undefined);
    await expect(want(watched())).rejects.toThrow(NotYetError);
    await clock.run(2_999);
    await expect(want(watched())).rejects.toThrow(NotYetError);
    await clock.run(1);
    await want(watched());
    expect(found()).toMatchObject({ isNew: false });
  });

  it("is the only one that ends early: a new pod counts as new for some seconds", async () => {
    await begin();
    await want(watched());
    logs.before = () => new Promise<never>(() => undefined);
    await want(watched(), watched("later"));
    expect(found(watched("later"))).toMatchObject({ isNew: true });
    await clock.run(3_000);
    expect(found(watched("later"))).toMatchObject({ isNew: false });
  });
});

describe("passes", () => {
  it("are not requested because a healthy log was read", async () => {
    await begin();
    await clock.run(300_000);
    expect(logs.requests.length).toBeGreaterThan(10);
    expect(passes).toBe(1);
  });

  it("are requested when 401s begin, last and end, and not for more of the same", async () => {
    await begin();
    const states: string[] = [];
    for (let second = 0; second < 1_200; second++) {
      if (second < 300) log401();
      await clock.run(1_000);
      const { state, isFresh = false } = found().persistence;
      if (states.at(-1) !== `${state} ${isFresh}`) states.push(`${state} ${isFresh}`);
    }
    expect(states).toEqual(["quiet false", "suspected true", "persistent true", "persistent false", "quiet false"]);
    expect(passes).toBe(states.length);
  });

  it.each([
    ["a log becomes unreadable", new ForbiddenError("no"), 2, { forbidden: true, message: "no" }],
    ["failures begin, and add up to an error", new TransientError("slow"), 3, { forbidden: false, message: "slow" }],
  ])("are requested when %s, and when that ends", async (_, failure, begun, error) => {
    await begin();
    logs.before = () => Promise.reject(failure);
    await clock.run(60_000);
    expect([passes, found().error]).toEqual([begun, error]);
    logs.before = () => undefined;
    await clock.run(60_000);
    expect([passes, found().error]).toEqual([begun + 1, undefined]);
  });
});

it("reads that hang are told within five minutes, also of 100 logs, as those of a dead node", async () => {
  const items = Array.from({ length: 100 }, (_, i) => watched(`web-5d-${i}`));
  await want(...items).catch(() => undefined);
  await clock.run(10_000);
  const slow = new TransientError("slow");
  logs.before = async () => {
    await new Promise<void>(resolve => void clock.after(10_000, resolve));
    throw slow;
  };
  for (let seen = passes, second = 0; second < 300; second++) {
    if (passes > seen) await want(...items);
    seen = passes;
    await clock.run(1_000);
  }
  expect(items.filter(item => found(item).error === undefined)).toEqual([]);
});

it.each([
  ["suspect", UNAUTHORIZED],
  ["failing", "all is well"],
])("a log is %s whose first read failed after: %s", async (urgency, text) => {
  const log = await wantAlone(watched(), SEARCH);
  logs.write("web-5d-a", "main", { ms: clock.now().getTime(), text });
  await log.read();
  logs.before = () => Promise.reject(new TransientError("slow"));
  await log.read();
  expect(log.urgency()).toBe(urgency);
  await log.read();
  await log.read();
  expect(log.urgency()).toBe("unreadable");
});

/** Wants one log, and returns it: it is read when the test does. */
async function wantAlone(item: Watched, search: Parameters<LogWatch["want"]>[2]): Promise<RoundsLog> {
  let wanted: readonly RoundsLog[] = [];
  const keep = (_: object, __: string, kept: readonly RoundsLog[]) => Promise.resolve(void (wanted = kept));
  await watch.want({ clock, logs, rounds: { keep, drop: () => undefined } }, [item], search).catch(() => undefined);
  return wanted[0]!;
}

it("a log may rest once it was read in the present lives of its container", async () => {
  const rests = async (item: Watched): Promise<boolean> => {
    const log = await wantAlone(item, { ...SEARCH, rest: { as: "asleep", wokenBy: ["401"] } });
    const may = log.rest() !== undefined;
    await log.read();
    return may;
  };
  const lives = [container(), container({ running: false, lastFinishedAtMs: 1 }), container({ restartCount: 1 })];
  for (const life of lives) {
    expect(await rests({ ...watched(), container: life })).toBe(false);
    expect(await rests({ ...watched(), container: life })).toBe(true);
  }
  logs.before = () => Promise.reject(new TransientError("slow"));
  for (let i = 0; i < 2; i++) expect(await rests({ ...watched(), container: container() })).toBe(false);
});

it("a log of which a part was skipped does not rest before the window is over", async () => {
  const rest = { as: "asleep", wokenBy: ["401"] } as const;
  const line = (i: number) => ({ ms: clock.now().getTime() - 900_000 + i * 60, text: "x".repeat(1_000) });
  logs.write("web-5d-a", "main", ...Array.from({ length: 15_000 }, (_, i) => line(i)));
  const log = await wantAlone(watched(), { ...SEARCH, rest });
  await log.read();
  await clock.run(30_000);
  expect([(await log.read()).requests, found().isPartial, log.rest()]).toEqual([1, true, undefined]);
  await clock.run(900_000);
  expect(log.rest()).toBe(rest);
});

it.each([
  ["are not known to have begun after a change in a part that was skipped", 1, undefined],
  ["are still known to have begun after a change when a part is skipped later", 4, true],
])("401s of the kubelet %s", async (_, skippedBefore, isKubelets) => {
  const nowMs = clock.now().getTime();
  const kubelets401s = [{ fromMs: nowMs + 100_000, untilMs: nowMs + 900_000 }];
  const log = await wantAlone({ ...watched(), kubelets401s }, SEARCH);
  const write = (offsetMs: number, text: string): void =>
    logs.write("web-5d-a", "main", { ms: clock.now().getTime() + offsetMs, text });
  write(0, "started");
  await log.read();
  await clock.run(150_000);
  for (let i = 0; i < 8; i++) {
    if (i === skippedBefore - 1) {
      await clock.run(140_000);
      for (let line = 0; line < 400; line++) write(line - 130_000, "x".repeat(60_000));
      await log.read();
    }
    await clock.run(30_000);
    write(0, "unable to fetch metrics from kubelet node-1: 401 Unauthorized");
    await log.read();
  }
  expect(found().isPartial).toBe(true);
  expect(found().persistence.isKubelets).toBe(isKubelets);
});

it("a log may not rest before it was read after the time in which 401s of the kubelet may begin", async () => {
  const nowMs = clock.now().getTime();
  const search = { ...SEARCH, rest: { as: "asleep", wokenBy: ["401"] } } as const;
  const item = { ...watched(), kubelets401s: [{ fromMs: nowMs - 1_000, untilMs: nowMs + 60_000 }] };
  const log = await wantAlone(item, search);
  await log.read();
  expect(log.rest()).toBeUndefined();
  await clock.run(61_000);
  await log.read();
  expect(log.rest()).toBe(search.rest);
});

it.each([undefined, { as: "dozing", wokenBy: ["401"] } as const])(
  "a log with the rest %o goes on with what it has found, however long it was not read",
  async rest => {
    const log = await wantAlone(watched(), {
      ...SEARCH,
      rule: { ...RULE, windowMs: 3_600_000 },
      ...(rest && { rest }),
    });
    const searchedFromMs = clock.now().getTime();
    for (let read = 0; read < 2; read++) {
      log401();
      await log.read();
      await clock.run(1_000_000);
    }
    log401();
    await log.read();
    expect(found()).toMatchObject({ searchedFromMs, persistence: { occasions: 3 } });
  },
);

it("a log that sleeps is read as a new one after longer than the window", async () => {
  const search = { ...SEARCH, rest: { as: "asleep", wokenBy: ["401"] } } as const;
  const log = await wantAlone(watched(), search);
  log401();
  await log.read();
  const readMs = found().readMs;
  logs.write("web-5d-a", "main", { ms: clock.now().getTime() + 3_000_000, text: "all is well" });
  await clock.run(10_800_000);
  expect(found()).toMatchObject({ readMs, persistence: { state: "quiet" }, isNew: false });
  log401();
  await log.read();
  const nowMs = clock.now().getTime();
  expect(logs.requests.at(-1)?.sinceMs).toBe(nowMs - RULE.windowMs);
  expect(found()).toMatchObject({
    readMs: nowMs,
    isPartial: false,
    searchedFromMs: nowMs,
    persistence: { occasions: 1 },
  });
  expect(found().quiet).toEqual({ fromMs: nowMs, untilMs: nowMs });
});

describe("what was found", () => {
  it("stays while a pass misses the pod for a moment, and then goes", async () => {
    await begin();
    log401();
    await clock.run(40_000);
    await want();
    expect(rounds.size).toBe(0);
    await want(watched());
    expect(found().persistence.occasions).toBe(1);
    await want();
    await clock.run(301_000);
    await want();
    await want(watched()).catch(() => undefined);
    expect(found().readMs).toBeUndefined();
  });

  it("stays during a pause, in which nothing is read", async () => {
    await begin();
    log401();
    await clock.run(40_000);
    watch.pause();
    const { length } = logs.requests;
    await clock.run(30_000);
    expect([logs.requests.length, rounds.size]).toEqual([length, 0]);
    await want(watched());
    expect([found().persistence.occasions, rounds.size]).toEqual([1, 1]);
  });

  it("is gone after the end, also for a pass that ends late", async () => {
    await begin();
    watch.stop();
    await expect(want(watched())).rejects.toThrow(TransientError);
    expect(rounds.size).toBe(0);
  });
});
