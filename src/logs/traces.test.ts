import fc from "fast-check";
import { expect, it } from "vitest";
import { deniedOf, LEASE_LOST, REFUSED, THROTTLED, topicOf, Traces } from "./traces";

const denied = (resource: string, namespace: string): string =>
  topicOf({ serviceAccount: { namespace: "team", name: "web" }, verb: "list", resource, group: "", namespace });

it("keep room for lost Leases, throttling and denied Leases, and forget the topic that is silent for the longest time", () => {
  const fixed = fc.constantFrom(LEASE_LOST, REFUSED, THROTTLED);
  const one = fc.tuple(fc.constantFrom("pods", "leases"), fc.nat(99)).map(([what, i]) => denied(what, `ns-${i}`));
  fc.assert(
    fc.property(fc.array(fc.oneof(fixed, one), { maxLength: 400, size: "max" }), records => {
      let traces = Traces.NONE;
      records.forEach((topic, i) => (traces = traces.withRecord(i * 10_000, 0, topic)));
      expect(traces.topics.size).toBeLessThanOrEqual(3 + 16 + 32);
      for (const [resource, most] of [
        [undefined, 3],
        ["leases", 16],
        ["pods", 32],
      ] as const) {
        const group = records.filter(topic => deniedOf(topic)?.resource === resource);
        const latest = [...new Set(group.toReversed())].slice(0, most);
        expect([...traces.topics.keys()]).toEqual(expect.arrayContaining(latest));
      }
    }),
  );
});

it("know no start of a topic that may have been forgotten before", () => {
  let traces = Traces.NONE;
  for (let i = 0; i < 33; i++) traces = traces.withRecord(i * 10_000, 0, denied("pods", `ns-${i}`));
  traces = traces.withLine(400_000, 0).withGap(410_000).withRecord(420_000, 0, denied("pods", "ns-32"));
  expect(traces.topics.get(denied("pods", "ns-1"))).not.toHaveProperty("isStartUnknown");
  expect(traces.topics.get(denied("pods", "ns-32"))).toMatchObject({ isStartUnknown: true });
});
