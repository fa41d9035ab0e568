import { describe, expect, it } from "vitest";
import { callOf } from "../calls";
import { deedsOf, differences, type Run } from "./compare";
import type { Write } from "../proxy";

const write = (method: string, path: string, code?: number): Write => ({
  ...callOf(method, `/api/v1/namespaces/team/${path}`),
  ...(code === undefined ? {} : { code }),
});

const EVICTION = write("POST", "pods/web/eviction", 201);
const RUN: Run = { writes: [EVICTION], strays: [], state: { conditions: ["Ready=True AllHold"], pods: 1 } };

describe("what was done", () => {
  it("is what the API server has carried out, but for status", () => {
    const status = write("PUT", "controllerresiliences/it/status", 200);
    const refused = write("POST", "pods/web/eviction", 429);
    const unheard = write("POST", "pods/web/eviction");
    expect(deedsOf([status, EVICTION, refused, unheard, EVICTION])).toEqual({ "POST pods/eviction": 2 });
  });
});

describe("a run", () => {
  it("is like another with the same end and the same deeds, whatever was said of it in between", () => {
    expect(
      differences(RUN, { ...RUN, writes: [write("PUT", "controllerresiliences/it/status", 200), EVICTION] }),
    ).toEqual([]);
  });

  it.each<[string, Partial<Run>, string]>([
    ["does it twice", { writes: [EVICTION, EVICTION] }, "POST pods/eviction: 1 in the recorded run, 2 in this one"],
    ["does not do it", { writes: [] }, "POST pods/eviction: 1 in the recorded run, none in this one"],
    ["ends otherwise", { state: { ...RUN.state, pods: 0 } }, "pods: 1 in the recorded run, 0 in this one"],
    ["does not end", { trouble: "it took too long" }, "it took too long"],
    ["writes elsewhere", { strays: [EVICTION] }, "POST pods/eviction in team, which was at its end"],
  ])("that %s is not", (_, over, expected) => {
    expect(differences(RUN, { ...RUN, ...over })).toEqual([expected]);
  });
});
