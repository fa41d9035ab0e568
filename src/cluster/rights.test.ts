import { describe, expect, it } from "vitest";
import { FakeClock } from "../core/testing/fake-clock";
import type { ApiRequest } from "./api";
import { OwnRights } from "./rights";

function setUp() {
  const clock = new FakeClock();
  const asked: unknown[] = [];
  const world = { clock, asked, allowed: false };
  const json = <T>({ body }: ApiRequest): Promise<T> => {
    asked.push((body as { spec: unknown }).spec);
    return Promise.resolve({ status: { allowed: world.allowed } } as T);
  };
  return { ...world, grant: () => (world.allowed = true), rights: new OwnRights({ json }, clock) };
}

const bind = { apiGroup: "rbac.authorization.k8s.io", resource: "clusterroles", verb: "bind", name: "edit" };

describe("the operator's own rights", () => {
  it("are asked for by name", async () => {
    const { rights, asked } = setUp();
    expect(await rights.may(bind)).toBe(false);
    expect(asked).toEqual([
      { resourceAttributes: { group: bind.apiGroup, resource: "clusterroles", verb: "bind", name: "edit" } },
    ]);
  });

  it("are asked for again after half a minute, not before", async () => {
    const { rights, asked, clock, grant } = setUp();
    await rights.may(bind);
    grant();
    await clock.run(29_999);
    expect(await rights.may(bind)).toBe(false);
    await rights.may({ ...bind, name: "view" });
    expect(asked).toHaveLength(2);
    await clock.run(1);
    expect(await rights.may(bind)).toBe(true);
    expect(asked).toHaveLength(3);
  });
});
