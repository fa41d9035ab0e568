import { describe, expect, it } from "vitest";
import { pieceOf, type Wanted } from "./objects";
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
