import { Readable } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import { TerminalError } from "../../../core/errors";
import type { Session } from "../session";
import type { AuditFacts, LogFacts } from "./facts";
import { countRefused, unexplainedRefusals } from "./logs";

/** The counters of an API server. */
interface Page {
  readonly start?: number;
  readonly unauthorized?: number;
  readonly denied?: number;
}

let pages: Page[];
let waited: number[];
let unread: string[];
let nowMs: number;

beforeEach(() => {
  [pages, waited, unread, nowMs] = [[{}, { unauthorized: 30 }], [], [], 1_000];
});

const session = {
  server: "https://api.example:6443",
  clock: { monotonicMs: () => nowMs, after: () => () => undefined, now: () => new Date(nowMs) },
  wait: (_what: string, ms: number) => Promise.resolve(void (waited.push(ms), (nowMs += ms))),
  api: {
    open: () => {
      const page = pages.shift();
      if (page === undefined) throw new TerminalError("get /metrics: refused");
      const { start = 7, unauthorized = 0, denied = 0 } = page;
      const lines = [
        `process_start_time_seconds ${start}`,
        `authentication_attempts{result="error"} ${unauthorized}`,
        `authorization_attempts_total{result="no-opinion"} ${denied}`,
      ];
      return Promise.resolve(Object.assign(Readable.from([Buffer.from(`${lines.join("\n")}\n`)]), { headers: {} }));
    },
  },
} as unknown as Session;

/** Audits while reading the logs, which begins when it is waited for, takes so long; shows this. */
async function audit(logs: Partial<LogFacts>[] = [], tookMs = 0): Promise<string[]> {
  const reading = { then: (read: (ms: number) => void) => read((nowMs += tookMs)) } as Promise<number>;
  const refused = await countRefused(session, unread, reading);
  const facts = { refused, logs: logs.map(log => ({ unauthorized: "none", forbidden: 0, ...log })) };
  return unexplainedRefusals(facts as unknown as AuditFacts).map(({ name, why }) => `${name}: ${why.split(";")[0]}`);
}

describe("refused requests that no log explains", () => {
  it("are named with their number and time", async () => {
    expect(await audit()).toEqual(["api.example:6443: it refused requests within 10s: 30 with 401"]);
    expect(waited).toEqual([10_000]);
    pages = [{ denied: 5 }, { denied: 9, unauthorized: 3 }];
    expect(await audit([], 42_000)).toEqual([
      "api.example:6443: it refused requests within 42s: 3 with 401 and 4 with 403",
    ]);
    expect(waited).toHaveLength(1);
  });

  it.each<[string, Page[], Partial<LogFacts>[]]>([
    ["few of them", [{}, { unauthorized: 2, denied: 2 }], []],
    ["an explanation", [{}, { unauthorized: 30, denied: 30 }], [{ unauthorized: "some" }, { forbidden: 1 }]],
    ["another API server that answers", [{}, { start: 8, unauthorized: 30 }], []],
  ])("are none with %s", async (_, answers, logs) => {
    pages = answers;
    expect(await audit(logs)).toEqual([]);
    expect(unread).toEqual([]);
  });

  it("are unknown without the right to read the counters", async () => {
    pages = [];
    expect(await audit()).toEqual([]);
    expect(unread).toEqual(["count refused requests: refused"]);
  });
});
