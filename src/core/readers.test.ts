import { describe, expect, it } from "vitest";
import { refusalsIn, UNAUTHENTICATED, type RequestRates } from "./readers";

const spans = {
  [UNAUTHENTICATED]: [
    { fromMs: 1_000, toMs: 2_000, requests: 2 },
    { fromMs: 2_000, toMs: 4_000, requests: 3 },
  ],
};
const all: RequestRates = { spans, servers: { found: 3, read: 3 } };

describe("the refused requests", () => {
  it("are those of all API servers", () => {
    expect(refusalsIn(all)).toEqual({ fromMs: 1_000, toMs: 4_000, count: 5 });
  });

  it("cover no time after the first reading", () => {
    expect(refusalsIn({ ...all, spans: {}, readMs: 5_000 })).toEqual({ fromMs: 5_000, toMs: 5_000, count: 0 });
  });

  it.each<[string, Partial<RequestRates>]>([
    ["one API server was not read", { servers: { found: 3, read: 2 } }],
    ["there is one address, behind which there may be others", { servers: { found: 1, read: 1 } }],
    ["the last reading failed", { unknown: "Failed." }],
    ["there was no reading", { spans: {} }],
  ])("prove nothing if %s", (_, over) => {
    expect(refusalsIn({ ...all, ...over })).toBeUndefined();
  });
});
