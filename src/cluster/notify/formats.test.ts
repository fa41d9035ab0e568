import { describe, expect, it } from "vitest";
import type { EventRecord } from "../../core/ports";
import { bodyOf, type NotifyFormat } from "./webhook";

const event: EventRecord = {
  regarding: { apiVersion: "a/v1", kind: "ControllerResilience", namespace: "team", name: "web", uid: "u" },
  ...{ type: "Warning", reason: "Rejected", action: "Reconcile", note: "<!channel> & more", problem: "TokensAccepted" },
};
const end: Partial<EventRecord> = { type: "Normal", reason: "Accepted", isEnd: true };
const body = (format: NotifyFormat, more: Partial<EventRecord> = {}): unknown =>
  JSON.parse(bodyOf({ id: "id", time: "2025-01-02T00:01:00Z", event: { ...event, ...more } }, format, "prod").text);

describe("bodies", () => {
  it("are CloudEvents 1.0 in structured mode", () => {
    expect(body("cloudevents")).toEqual({
      ...{ specversion: "1.0", id: "id", source: "/clusters/prod/namespaces/team/controllerresilience/web" },
      ...{ type: "io.controller-resilience.event.warning", subject: "Rejected", time: "2025-01-02T00:01:00Z" },
      datacontenttype: "application/json",
      data: {
        ...{ cluster: "prod", type: "Warning", reason: "Rejected", note: event.note, regarding: event.regarding },
        ...{ problem: "TokensAccepted", isEnd: false },
      },
    });
    expect(body("cloudevents", end)).toMatchObject({ type: "io.controller-resilience.event.normal" });
  });

  it("cannot mention a channel of Slack", () => {
    expect(body("slack")).toEqual({
      text: "*Rejected: ControllerResilience prod/team/web*\n&lt;!channel&gt; &amp; more",
    });
    expect(body("slack", end)).toMatchObject({
      text: expect.stringMatching(/^\*Resolved: Accepted: Cont/) as string,
    });
  });

  it("end the same alert of Alertmanager that they have begun", () => {
    const [open] = body("alertmanager") as [Record<string, unknown>];
    const [over] = body("alertmanager", end) as [Record<string, unknown>];
    expect(over["labels"]).toEqual(open["labels"]);
    expect(open["labels"]).toMatchObject({ alertname: "ControllerResilienceTokensAccepted", namespace: "team" });
    expect([open["startsAt"], open["endsAt"]]).toEqual(["2025-01-02T00:01:00Z", "2025-01-03T00:01:00.000Z"]);
    expect(over["endsAt"]).toBe("2025-01-02T00:01:00Z");
  });

  it("name an alert without a problem by its reason", () => {
    const { problem, ...other } = event;
    expect(problem).toBeDefined();
    const [alert] = JSON.parse(
      bodyOf({ id: "", time: "2025-01-02T00:01:00Z", event: other }, "alertmanager", "c").text,
    ) as [object];
    expect(alert).toMatchObject({ labels: { alertname: "ControllerResilienceRejected" } });
  });
});
