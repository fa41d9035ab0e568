import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TerminalError } from "../../core/errors";
import type { Notification } from "../../core/notifications";
import { bodyOf, type NotifyFormat } from "./bodies";

const notification: Notification = {
  ...{ id: "u/Stalled/Stalled/t", state: "Open", topic: "Stalled", condition: "Stalled", reason: "Forbidden" },
  subject: {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ControllerResilience",
    namespace: "team",
    name: "web",
    uid: "u",
  },
  ...{ message: "<!channel> & more", since: "2025-01-02T00:00:00Z", time: "2025-01-02T00:01:00Z" },
};
const body = (format: NotifyFormat, changes: Partial<Notification> = {}): unknown =>
  JSON.parse(bodyOf({ ...notification, ...changes }, { format, cluster: "prod" }).text);
const filled = (template: string, changes: Partial<Notification> = {}): unknown =>
  JSON.parse(bodyOf({ ...notification, ...changes }, { format: "template", cluster: "prod", template }).text);

describe("bodies", () => {
  it("are CloudEvents 1.0 in structured mode", () => {
    const { apiVersion, kind, namespace, name, uid } = notification.subject;
    expect(bodyOf(notification, { format: "cloudevents", cluster: "prod" }).contentType).toMatch(
      /^application\/cloudevents\+json;/,
    );
    expect(body("cloudevents")).toEqual({
      specversion: "1.0",
      id: "u/Stalled/Stalled/t",
      source: "/clusters/prod/namespaces/team/controllerresilience/web",
      type: "io.controller-resilience.incident.open",
      subject: "Stalled",
      time: "2025-01-02T00:01:00Z",
      datacontenttype: "application/json",
      data: {
        ...{ state: "Open", cluster: "prod", condition: "Stalled", reason: "Forbidden", message: "<!channel> & more" },
        ...{ object: { apiVersion, kind, namespace, name, uid }, since: "2025-01-02T00:00:00Z" },
      },
    });
  });

  it("cannot mention a channel of Slack", () => {
    expect(body("slack")).toEqual({
      text: "*Stalled: ControllerResilience prod/team/web*\n&lt;!channel&gt; &amp; more",
    });
    expect(body("slack", { state: "Resolved" })).toMatchObject({
      text: expect.stringMatching(/^\*Resolved: Stalled/) as string,
    });
  });

  it("end the same alert of Alertmanager that they have begun", () => {
    const [open] = body("alertmanager") as [Record<string, unknown>];
    const [over] = body("alertmanager", { state: "Resolved", reason: "Other" }) as [Record<string, unknown>];
    expect(over["labels"]).toEqual(open["labels"]);
    expect(open["labels"]).toMatchObject({ alertname: "ControllerResilienceStalled", namespace: "team", name: "web" });
    expect([open["startsAt"], open["endsAt"]]).toEqual(["2025-01-02T00:00:00Z", "2025-01-03T00:01:00.000Z"]);
    expect(over["endsAt"]).toBe("2025-01-02T00:01:00.000Z");
  });

  it("fill the texts of a template, which no value can break", () => {
    const message = 'a "quote", }, {{ id }} and \\';
    const template = `{"content": "{{ topic }} of {{cluster}}/{{namespace}}/{{name}}: {{ message }}", "list": [1, true, null, {"x": "{{ kind }}"}]}`;
    expect(filled(template, { message })).toEqual({
      content: `Stalled of prod/team/web: ${message}`,
      list: [1, true, null, { x: "ControllerResilience" }],
    });
  });

  it("choose a word of a template by the state", () => {
    const template = `{"event_action": "{{ state | trigger | resolve }}", "dedup_key": "{{ kind }}/{{ name }}/{{ topic }}"}`;
    const key = "ControllerResilience/web/Stalled";
    expect(filled(template)).toEqual({ event_action: "trigger", dedup_key: key });
    expect(filled(template, { state: "Resolved" })).toEqual({ event_action: "resolve", dedup_key: key });
  });

  it("fill the documented template", () => {
    const page = readFileSync(join(__dirname, "../../../docs/notifications.md"), "utf8");
    const [, template = ""] = /^```json\n([^]*?)^```$/m.exec(page) ?? [];
    expect(JSON.stringify(filled(template))).not.toMatch(/[{][{]|[}][}]{2}/);
    expect(filled(template)).toMatchObject({ event_action: "trigger", payload: { source: "prod" } });
  });

  it("name what is wrong with a template, without its text", () => {
    expect(() => filled("secret {")).toThrow("the file template in the folder of --notify-dir: expected JSON");
    for (const text of ["{{ secret }}", "{{ reason | a | b }}", "{{ toString }}"])
      expect(() => filled(JSON.stringify({ text }))).toThrow(
        /^[^]*or \{\{ FIELD \}\} with one of id, state, topic, cluster, kind/,
      );
    expect(() => bodyOf(notification, { format: "template", cluster: "c" })).toThrow("has no file template");
  });

  it.each([
    ["{{ state | trigger }}", 21],
    ["ok {{ state }} {{ state | a | b | c }}", 36],
    ["{{ top-ic }}", 21],
    ["{{ topic }", 21],
    ["topic }}", 27],
    ["{{ {{ topic }}", 21],
    ["{{}}", 21],
    [String.raw`\" {{`, 24],
  ])("refuse a template with a malformed place, by its position: %s", (text, column) => {
    const problem = `the file template in the folder of --notify-dir: expected {{ FIELD }} or {{ state | OPEN | RESOLVED }} in texts, got another {{ or }} at line 2, column ${column}`;
    const template = `{"list": [{"x": {"y": 1}},\n  {"secret": ["a", "${text}"]}]}`;
    expect(() => filled(template)).toThrow(new TerminalError(problem));
  });

  it("refuse a template with a place in a key, and never see one in a value or in the JSON itself", () => {
    expect(() => filled(`{"{{ topic }}": 1}`)).toThrow("got another {{ or }} at line 1, column 3");
    expect(() => filled(`{"{{ topic }}" \n : 1}`)).toThrow("got another {{ or }} at line 1, column 3");
    expect(() => filled(String.raw`{"a": "\u007b{ topic }"}`)).toThrow("got another {{ or }} at line 1, column 8");
    expect(filled(`{"a":{"b":"{{{message}}}"}}`, { message: "}} {{" })).toEqual({ a: { b: "{}} {{}" } });
  });
});
