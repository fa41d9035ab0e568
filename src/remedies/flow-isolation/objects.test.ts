import { describe, expect, it } from "vitest";
import { covers, pieceOf, type Wanted } from "./objects";
import type { ClusterObjectView } from "../../core/views";

const wanted: Wanted = {
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

describe("a wanted object", () => {
  const compare = (change: Partial<ClusterObjectView>) => {
    const view = { ...right, ...change };
    return pieceOf(wanted, [{ ...right, name: "b" }, view]).is;
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
  ])("is %s for %j", (is, change) => {
    expect(compare(change)).toBe(is);
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
  ])("of %j for %j is %s", (actual, some, expected) => {
    expect(covers(actual, some)).toBe(expected);
  });
});
