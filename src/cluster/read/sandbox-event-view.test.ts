import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sandboxEventView } from "./sandbox-event-view";

const message =
  'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "5d": plugin type="calico" failed (add): error getting ClusterInformation: connection is unauthorized: Unauthorized';
const reason = "FailedCreatePodSandBox";
const at = (second: number): string => `2025-01-01T00:00:${String(second).padStart(2, "0")}Z`;
const ms = (second: number): number => Date.parse(at(second));
const metadata = {
  namespace: "shop",
  name: "web.17",
  uid: "u1",
  resourceVersion: "3",
  creationTimestamp: at(40),
  managedFields: [{ manager: "kubelet", operation: "Update", time: at(55) }],
};
const kubelet = { component: "kubelet", host: "n1" };
const core = {
  metadata,
  reason,
  message,
  source: kubelet,
  firstTimestamp: at(1),
  lastTimestamp: at(31),
  count: 4,
  eventTime: null,
};
const view = {
  namespace: "shop",
  name: "web.17",
  uid: "u1",
  node: "n1",
  storedMs: ms(55),
  count: 4,
  unauthorized: true,
};

describe("an Event of a sandbox as a view", () => {
  it.each<[string, object]>([
    ["the core API as the kubelet's recorder writes it", core],
    [
      "the same, read through events.k8s.io",
      {
        metadata,
        reason,
        note: message,
        deprecatedSource: kubelet,
        deprecatedFirstTimestamp: at(1),
        deprecatedLastTimestamp: at(31),
        deprecatedCount: 4,
        eventTime: null,
      },
    ],
    [
      "a series of events.k8s.io",
      {
        metadata,
        reason,
        note: message,
        reportingController: "kubelet",
        reportingInstance: "n1",
        eventTime: "2025-01-01T00:00:01.000000Z",
        series: { count: 4, lastObservedTime: "2025-01-01T00:00:31.000000Z" },
      },
    ],
    [
      "the same, read through the core API",
      {
        metadata,
        reason,
        message,
        source: {},
        firstTimestamp: null,
        lastTimestamp: null,
        reportingComponent: "kubelet",
        reportingInstance: "n1",
        eventTime: "2025-01-01T00:00:01.000000Z",
        series: { count: 4, lastObservedTime: "2025-01-01T00:00:31.000000Z" },
      },
    ],
  ])("is the same in the shape of %s", (_, raw) => {
    expect(sandboxEventView(raw)).toEqual(view);
  });

  it("is one occurrence without count and series", () => {
    expect(sandboxEventView({ ...core, count: undefined, lastTimestamp: null })).toMatchObject({ count: 1 });
  });

  it.each(["2024-12-31T23:50:00Z", "2025-01-01T00:10:00Z"])("has the API server's time, if the node says %s", time => {
    const skewed = { ...core, firstTimestamp: time, lastTimestamp: time, eventTime: time };
    expect(sandboxEventView(skewed)).toEqual(view);
    expect(sandboxEventView({ ...skewed, metadata: { ...metadata, managedFields: undefined } })).toMatchObject({
      storedMs: ms(40),
    });
  });

  it("is the same for combined Events, which contain the last message", () => {
    const combined = { ...core, message: `(combined from similar events): ${message}` };
    expect(sandboxEventView(combined)).toEqual(view);
  });

  it("has nothing of the message", () => {
    expect(JSON.stringify(sandboxEventView(core))).not.toMatch(/calico|rpc|Cluster/);
    expect(sandboxEventView({ ...core, message: "no IP addresses available" })?.unauthorized).toBe(false);
  });

  it.each([
    ["another reason", { reason: "BackOff" }],
    ["no uid", { metadata: { ...metadata, uid: undefined } }],
    ["no node", { source: { component: "kubelet" } }],
    ["no time", { metadata: { ...metadata, creationTimestamp: null, managedFields: [{ time: "yesterday" }, 1] } }],
  ])("is null with %s", (_, change) => {
    expect(sandboxEventView({ ...core, ...change })).toBeNull();
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.anything(), (source, series, count) => {
        sandboxEventView(source);
        const seen = sandboxEventView({ ...core, source, series, count, reportingInstance: "n1" });
        expect(seen === null || Number.isFinite(seen.storedMs)).toBe(true);
      }),
    );
  });
});
