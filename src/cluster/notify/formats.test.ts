import { describe, expect, it } from "vitest";
import type { EventRecord } from "../../core/ports";
import { bodyOf, type NotifyFormat } from "./webhook";

const event: EventRecord = {
  regarding: { apiVersion: "a/v1", kind: "ControllerResilience", namespace: "team", name: "web", uid: "u" },
  ...{ type: "Warning", reason: "Rejected", action: "Reconcile", note: "<!channel> & more" },
};
const body = (format: NotifyFormat, more: Partial<EventRecord> = {}): unknown =>
  JSON.parse(
    bodyOf({ id: "id", time: "2025-01-02T00:01:00Z", event: { ...event, ...more } }, { format, cluster: "prod" }),
  );

describe("bodies", () => {
  it("are CloudEvents 1.0 in structured mode", () => {
    expect(body("cloudevents")).toEqual({
      ...{ specversion: "1.0", id: "id", source: "/clusters/prod/namespaces/team/controllerresilience/web" },
      ...{ type: "io.controller-resilience.event.warning", subject: "Rejected", time: "2025-01-02T00:01:00Z" },
      datacontenttype: "application/json",
      data: {
        ...{ cluster: "prod", type: "Warning", reason: "Rejected", note: event.note, regarding: event.regarding },
      },
    });
    expect(body("cloudevents", { type: "Normal" })).toMatchObject({ type: "io.controller-resilience.event.normal" });
  });

  it("cannot mention a channel of Slack", () => {
    expect(body("slack")).toEqual({
      text: "*Rejected: ControllerResilience prod/team/web*\n&lt;!channel&gt; &amp; more",
    });
  });
});
