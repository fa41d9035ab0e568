import fc from "fast-check";
import { expect, it } from "vitest";
import { Latencies } from "./latencies";

const times = fc.array(fc.double({ min: 0.01, max: 100_000, noNaN: true }), { minLength: 1 });

function of(ms: readonly number[]): Latencies {
  const latencies = new Latencies();
  for (const each of ms) latencies.add(each);
  return latencies;
}

it("returns every quantile, never too low and at most 2 % too high", () => {
  fc.assert(
    fc.property(times, fc.double({ min: 0.01, max: 1, noNaN: true }), (ms, share) => {
      const exact = [...ms].sort((a, b) => a - b)[Math.ceil(share * ms.length) - 1]!;
      const read = of(ms).quantile(share);
      expect(read).toBeGreaterThan(exact * 0.9999);
      expect(read).toBeLessThan(exact * 1.0201);
    }),
  );
});

it("is the same after serialization, and when merged from parts", () => {
  fc.assert(
    fc.property(times, times, (some, others) => {
      const parts = [of(some), of(others)].map(part =>
        Latencies.of(JSON.parse(JSON.stringify(part)) as [number, number][]),
      );
      const sum = Latencies.sum(parts);
      expect(sum.toJSON()).toEqual(of([...some, ...others]).toJSON());
      expect(sum.count).toBe(some.length + others.length);
    }),
  );
});

it("has no quantile without answers", () => {
  expect(new Latencies().quantile(0.5)).toBeNaN();
});
