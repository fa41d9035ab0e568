import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareDesired, covers, equals, viewIn, type DesiredObject } from "./desired";
import type { ClusterObjectView } from "../../core/views";

const desired: DesiredObject = {
  kind: "FlowSchema",
  name: "a",
  labels: { owner: "me" },
  annotations: { for: "team/it" },
  spec: { rules: [{ verbs: ["*"] }] },
};

const right: ClusterObjectView = {
  apiVersion: "flowcontrol.apiserver.k8s.io/v1",
  kind: "FlowSchema",
  name: "a",
  uid: "u",
  resourceVersion: "1",
  createdAtMs: 0,
  labels: { owner: "me", team: "x" },
  annotations: { for: "team/it", note: "y" },
  spec: { rules: [{ verbs: ["*"] }] },
  conditions: [],
};

describe("compareDesired", () => {
  const compare = (change: Partial<ClusterObjectView>) => {
    const view = { ...right, ...change };
    const { is } = compareDesired(desired, [{ ...right, name: "b" }, view], covers);
    return is;
  };

  it.each<[string, Partial<ClusterObjectView>]>([
    ["missing", { name: "c" }],
    ["right", {}],
    ["right", { spec: { ...right.spec, defaulted: 1 } }],
    ["different", { spec: { rules: [] } }],
    ["different", { annotations: { for: "another" } }],
    ["deleting", { deletedAtMs: 1 }],
    ["foreign", { labels: { owner: "another" } }],
    ["foreign", { labels: {}, deletedAtMs: 1 }],
  ])("returns %s for %j", (is, change) => {
    expect(compare(change)).toBe(is);
  });

  it("uses the given match for the spec only", () => {
    const more = { ...right, spec: { ...right.spec, defaulted: 1 } };
    expect(compareDesired(desired, [more], equals).is).toBe("different");
    expect(compareDesired(desired, [right], equals).is).toBe("right");
  });

  it("reports whether an object that is being deleted is right until then", () => {
    const going = { ...right, deletedAtMs: 1 };
    expect(compareDesired(desired, [going], covers)).toEqual({ is: "deleting", view: going, isRight: true });
    const other = { ...going, spec: {} };
    expect(compareDesired(desired, [other], covers)).toEqual({ is: "deleting", view: other, isRight: false });
  });

  it("returns the object that has the name, except for a missing one", () => {
    const foreign = { ...right, labels: {} };
    expect(viewIn(compareDesired(desired, [foreign], covers))).toBe(foreign);
    expect(viewIn(compareDesired(desired, [right], covers))).toBe(right);
    expect(viewIn(compareDesired(desired, [], covers))).toBeUndefined();
  });
});

describe("covers", () => {
  it.each<[unknown, unknown, boolean]>([
    [{ a: 1, b: 2 }, { a: 1 }, true],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [[{ a: 1, b: 2 }], [{ a: 1 }], true],
    [[1, 2], [1], false],
    [[1], [1, 2], false],
    [{ 0: 1, length: 1 }, [1], false],
    [[1], { 0: 1 }, false],
    [null, {}, false],
    ["1", 1, false],
  ])("of %j for %j is %s", (actual, wanted, expected) => {
    expect(covers(actual, wanted)).toBe(expected);
  });

  it("holds for a value and itself, and for one with further fields", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (wanted, more) => {
        expect(covers(wanted, wanted)).toBe(true);
        expect(covers({ more, ...wanted }, wanted)).toBe(true);
      }),
    );
  });
});

describe("equals", () => {
  it.each<[unknown, unknown, boolean]>([
    [{ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 }, true],
    [{ a: null }, {}, true],
    [{ a: 1, b: 2 }, { a: 1 }, false],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [[1, 2], [2, 1], false],
  ])("of %j and %j is %s", (actual, wanted, expected) => {
    expect(equals(actual, wanted)).toBe(expected);
  });

  it("implies covers without null fields", () => {
    const values = fc.jsonValue().map(value => JSON.parse(JSON.stringify(value).replaceAll("null", "0")) as unknown);
    fc.assert(
      fc.property(values, values, (actual, wanted) => {
        expect(equals(actual, actual)).toBe(true);
        if (equals(actual, wanted)) expect(covers(actual, wanted)).toBe(true);
      }),
    );
  });
});
