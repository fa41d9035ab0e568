import { describe, expect, it } from "vitest";
import { KINDS, missed, type Picture } from "./oracle";
import { inOrder, WATCH_FAULTS } from "./watch-faults";

const picture: Picture = {
  controllerresiliences: ["web at generation 1"],
  pods: ["crowd 3"],
  serviceaccounts: ["web is b"],
  rolebindings: ["soon until 2026"],
  clusterrolebindings: [],
  events: ["rejected"],
};

describe("the missed changes", () => {
  it("are empty when the operator's view equals the API server's", () => {
    expect(missed(picture, structuredClone(picture))).toEqual([]);
  });

  it.each(KINDS)("include unknown and deleted objects of %s", kind => {
    expect(missed({ ...picture, [kind]: ["new"] }, { ...picture, [kind]: ["old"] })).toEqual([
      `${kind}: not acted on new; still acted on old`,
    ]);
    expect(missed(picture, { ...picture, [kind]: [...picture[kind], "old"] })).toHaveLength(1);
    expect(missed({ ...picture, [kind]: [...picture[kind], "new"] }, picture)).toHaveLength(1);
  });
});

it("the order of faults depends on the seed, with silence last", () => {
  const orders = [1, 1, 2].map(seed => inOrder(WATCH_FAULTS, seed));
  expect(orders[0]).toEqual(orders[1]);
  expect(orders[0]).not.toEqual(orders[2]);
  for (const order of orders) {
    expect(new Set(order)).toEqual(new Set(WATCH_FAULTS));
    expect(order.at(-1)?.fault).toBe("silence");
  }
});
