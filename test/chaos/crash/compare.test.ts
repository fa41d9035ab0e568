import { describe, expect, it } from "vitest";
import { callOf } from "../calls";
import { actionsOf, differences, type Run } from "./compare";
import type { Write } from "../proxy";

const write = (method: string, path: string, code?: number): Write => ({
  ...callOf(method, `/api/v1/namespaces/team/${path}`),
  ...(code === undefined ? {} : { code }),
});

const EVICTION = write("POST", "pods/web/eviction", 201);
const RUN: Run = { writes: [EVICTION], strays: [], state: { conditions: ["Ready=True AllHold"], pods: 1 } };

it("the counted writes are those that the API server has carried out, except of status", () => {
  const status = write("PUT", "controllerresiliences/it/status", 200);
  const refused = write("POST", "pods/web/eviction", 429);
  const unheard = write("POST", "pods/web/eviction");
  expect(actionsOf([status, EVICTION, refused, unheard, EVICTION])).toEqual({ "POST pods/eviction": 2 });
});

describe("a run", () => {
  it("equals another with the same end state and the same writes, whatever the Events and status were meanwhile", () => {
    expect(
      differences(RUN, { ...RUN, writes: [write("PUT", "controllerresiliences/it/status", 200), EVICTION] }),
    ).toEqual([]);
  });

  it.each<[string, Partial<Run>, string]>([
    ["writes twice", { writes: [EVICTION, EVICTION] }, "POST pods/eviction: 1 in the recorded run, 2 in this one"],
    ["does not write", { writes: [] }, "POST pods/eviction: 1 in the recorded run, none in this one"],
    ["has another end state", { state: { ...RUN.state, pods: 0 } }, "pods: 1 in the recorded run, 0 in this one"],
    ["does not end", { trouble: "timed out" }, "timed out"],
    ["writes elsewhere", { strays: [EVICTION] }, "POST pods/eviction in team, which was finished"],
  ])("differs if it %s", (_, over, expected) => {
    expect(differences(RUN, { ...RUN, ...over })).toEqual([expected]);
  });
});
