import { describe, expect, it } from "vitest";
import { TransientError } from "../../core/errors";
import { FakeClock } from "../../core/testing/fake-clock";
import type { ApiRequest } from "../http/api";
import { Rights } from "./rights";

function setUp() {
  const clock = new FakeClock();
  const asked: unknown[] = [];
  const world = { clock, asked, allowed: false };
  const json = <T>({ body }: ApiRequest): Promise<T> => {
    asked.push((body as { spec: unknown }).spec);
    return Promise.resolve({ status: { allowed: world.allowed } } as T);
  };
  return { ...world, grant: () => (world.allowed = true), rights: new Rights({ json }, clock) };
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

  it("are asked for once, however many want to know at once, and for all names where they hold for all", async () => {
    const { rights, asked, grant } = setUp();
    await Promise.all(Array.from({ length: 100 }, () => rights.may(bind)));
    expect(asked).toHaveLength(1);
    grant();
    const patch = { ...bind, resource: "rolebindings", verb: "patch" };
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => rights.may({ ...patch, name: `b${i}` })));
    expect(answers).toEqual(answers.map(() => true));
    expect(asked).toHaveLength(2);
  });

  it("are asked for again where there was no answer", async () => {
    const answers = [Promise.reject(new TransientError("no answer")), Promise.resolve({ status: { allowed: true } })];
    const json = <T>(): Promise<T> => answers.shift() as Promise<T>;
    const rights = new Rights({ json }, new FakeClock());
    await expect(rights.may(bind)).rejects.toThrow("no answer");
    expect(await rights.may(bind)).toBe(true);
  });
});
