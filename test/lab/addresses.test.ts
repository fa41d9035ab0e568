import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { freeIndex, jointOf, LAB_LIMIT, overlaps, parseRoutes, portsOf } from "./addresses";

const index = fc.integer({ min: 0, max: LAB_LIMIT - 1 });

const portNumbers = (lab: number): number[] => Object.values({ ...portsOf(lab) });

describe("addresses of a lab", () => {
  it("gives two labs no common address or port", () => {
    fc.assert(
      fc.property(index, index, (one, other) => {
        fc.pre(one !== other);
        expect(overlaps(jointOf(one), [`${jointOf(other).hostAddress}/30`])).toBe(false);
        expect(portNumbers(one).filter(port => portNumbers(other).includes(port))).toEqual([]);
      }),
    );
  });

  it("uses ports below the range of outgoing connections", () => {
    expect(Math.max(...portNumbers(LAB_LIMIT - 1))).toBeLessThan(32_768);
  });

  it("starts at 10.86.0.0/30 and continues at 198.18.0.0/30", () => {
    expect(jointOf(0)).toEqual({ hostAddress: "10.86.0.1", labAddress: "10.86.0.2", prefixLength: 30 });
    expect(jointOf(256)).toEqual({ hostAddress: "198.18.0.1", labAddress: "198.18.0.2", prefixLength: 30 });
  });
});

describe("freeIndex", () => {
  it("returns the smallest free and usable index", async () => {
    expect(await freeIndex(new Set([0, 1, 3]), candidate => candidate !== 2)).toBe(4);
  });

  it("throws with the number of tried indices if none is left", async () => {
    await expect(freeIndex(new Set(), () => false)).rejects.toThrow(`${LAB_LIMIT} were tried, 0 are held`);
  });
});

it.each([
  ["a route to all of 10.0.0.0/8", "10.0.0.0/8", true],
  ["the same /30", "10.86.3.0/30", true],
  ["one address inside", "10.86.3.1", true],
  ["the /30 next to it", "10.86.3.4/30", false],
  ["another network", "192.168.0.0/16", false],
])("overlaps %s", (_, range, expected) => {
  expect(overlaps(jointOf(3), [range])).toBe(expected);
});

describe("parseRoutes", () => {
  it("reads IPv4 destinations and leaves out the default route and IPv6", () => {
    const json = '[{"dst":"default","gateway":"1.2.3.4"},{"dst":"10.1.0.0/16"},{"dst":"10.2.0.1"},{"dst":"fe80::/64"}]';
    expect(parseRoutes(json)).toEqual(["10.1.0.0/16", "10.2.0.1"]);
  });

  it("reads no output as no routes", () => {
    expect(parseRoutes("")).toEqual([]);
  });
});
