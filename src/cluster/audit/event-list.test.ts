import { describe, expect, it } from "vitest";
import { rejectedIn } from "./event-list";

const event = {
  ...{ stage: "ResponseStarted", responseStatus: { code: 401 }, sourceIPs: ["10.0.0.1"] },
  stageTimestamp: "2025-01-01T12:00:00.000000Z",
};
const listOf = (...items: unknown[]): string =>
  JSON.stringify({ kind: "EventList", apiVersion: "audit.k8s.io/v1", items });

describe("rejectedIn", () => {
  it("takes the address and the time of 401s", () => {
    const atMs = Date.parse("2025-01-01T12:00:00Z");
    expect(rejectedIn(listOf(event, { ...event, responseStatus: { code: 403 } }))).toEqual([
      { address: "10.0.0.1", atMs },
    ]);
  });

  it("takes the address of the connection, and never one that the client has made up", () => {
    const rejected = rejectedIn(listOf({ ...event, sourceIPs: ["10.0.0.99", "10.0.0.1"] }));
    expect(rejected).toMatchObject([{ address: "10.0.0.1" }]);
  });

  it.each([
    ["a stage without a response", { ...event, stage: "RequestReceived" }],
    ["no address", { ...event, sourceIPs: [] }],
    ["no valid address", { ...event, sourceIPs: ["web"] }],
    ["no time", { ...event, stageTimestamp: "now" }],
    ["no event", "x"],
    ["nothing", null],
  ])("ignores %s", (_, item) => expect(rejectedIn(listOf(item))).toEqual([]));

  it.each([
    "",
    "{",
    "[]",
    "null",
    '{"kind":"EventList","items":[]}',
    '{"kind":"EventList","apiVersion":"audit.k8s.io/v1"}',
  ])("refuses what is no EventList: %s", text => expect(rejectedIn(text)).toBeUndefined());
});
