import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutText, oneLine } from "../../core/text";
import { buildEvent, eventName, eventNamespace } from "./event-sink";

const record = {
  regarding: { apiVersion: "v1", kind: "Pod", namespace: "kai", name: "a", uid: "u" },
  type: "Normal",
  reason: "PodEvicted",
  action: "Evict",
  note: "n",
} as const;

describe("an Event", () => {
  it("has all required fields of events.k8s.io/v1", () => {
    expect(buildEvent(record, { name: "a.1", timeMs: 1_700_000_000_123, instance: "x".repeat(200) })).toEqual({
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { namespace: "kai", name: "a.1" },
      eventTime: "2023-11-14T22:13:20.123000Z",
      reportingController: "controller-resilience",
      reportingInstance: "x".repeat(128),
      type: "Normal",
      reason: "PodEvicted",
      action: "Evict",
      note: "n",
      regarding: { ...record.regarding, resourceVersion: undefined },
    });
  });

  const nameFor = (name: string) => eventName({ ...record, regarding: { ...record.regarding, name } }, "1f");

  it.each([
    ["web-0", "web-0.1f"],
    ["my.binding-2", "my.binding-2.1f"],
    ["system:controller:CronJob", "system-controller-cronjob.1f"],
    ["oidc:team_a", "oidc-team-a.1f"],
    [`${"x".repeat(199)}-y`, `${"x".repeat(199)}.1f`],
    [":", "1f"],
  ])("of %s is called %s", (name, expected) => {
    expect(nameFor(name)).toBe(expected);
  });

  it("has a DNS subdomain as its name, for any object", () => {
    // apimachinery, pkg/util/validation/validation.go: IsDNS1123Subdomain.
    const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "Z", "0", ".", ":", "-", "_", "%", "é"), maxLength: 250 }),
        name => {
          expect(nameFor(name)).toMatch(subdomain);
          expect(nameFor(name).length).toBeLessThanOrEqual(253);
        },
      ),
    );
  });

  it("of a cluster-scoped object is in default", () => {
    const regarding = { apiVersion: "v1", kind: "Node", name: "n" };
    expect(eventNamespace({ ...record, regarding })).toBe("default");
  });

  it("has a note of at most 1 kB, cut between characters, without those that a terminal may obey, or that hide or reorder text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 2_000 }), text => {
        // Without the character that Node writes for half of another.
        const note = oneLine(text.replaceAll("\ufffd", ""));
        const cut = cutText(note, 1_024);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(1024);
        expect(cut).not.toContain("\ufffd");
        if (cut !== note) expect(note.startsWith(cut.slice(0, -1))).toBe(true);
      }),
    );
    const noteOf = (note: string): object => buildEvent({ ...record, note }, { name: "a", timeMs: 0, instance: "i" });
    expect(noteOf("🙂".repeat(256))).toMatchObject({ note: "🙂".repeat(256) });
    expect(noteOf("🙂".repeat(257))).toMatchObject({ note: `${"🙂".repeat(255)}…` });
    expect(noteOf("a\x1b[2J\r\n\u202eb expires.")).toMatchObject({ note: "a [2J b expires." });
  });
});
