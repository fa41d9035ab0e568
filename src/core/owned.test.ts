import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isManaged, isOwnedBy, isOwnedName, ownedName, ownerAnnotations, ownerLabels } from "./owned";
import { makeObject } from "./testing/objects";

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
const subdomain = fc.array(label, { minLength: 1, maxLength: 4 }).map(labels => labels.join(".").slice(0, 253));

describe("ownedName", () => {
  it("is a valid name within the limit for any parts", () => {
    fc.assert(
      fc.property(label, subdomain, fc.integer({ min: 60, max: 253 }), (namespace, name, limit) => {
        const made = ownedName("controller-resilience-", [namespace, name], [namespace, name], limit);
        expect(made.length).toBeLessThanOrEqual(limit);
        expect(made).toMatch(SUBDOMAIN);
      }),
    );
  });

  it("differs for another identity, even with similar parts", () => {
    const names = [["a", "b-c"], ["a-b", "c"], ["a-b-c"]].map(parts => ownedName("x-", parts, parts));
    expect(new Set(names).size).toBe(3);
    expect(names.every(name => name.startsWith("x-a-b-c-"))).toBe(true);
  });

  it("is the same each time", () => {
    expect(ownedName("x-", ["team"], ["uid"])).toBe(ownedName("x-", ["team"], ["uid"]));
  });

  it("is recognized, unlike a similar name", () => {
    const name = ownedName("x-", ["team"], ["uid"]);
    expect([name, ownedName("x-", [], ["uid"])].map(one => isOwnedName("x-", one))).toEqual([true, true]);
    const others = [`${name}-copy`, `my-${name}`, `${name}0`, name.slice(0, -1), "x-team", "x-"];
    expect(others.filter(one => isOwnedName("x-", one))).toEqual([]);
  });
});

describe("the owner of an object", () => {
  const owner = makeObject("team/app");
  const other = makeObject("team/other");

  it("is identified by uid", () => {
    const view = { labels: ownerLabels(owner) };
    expect([isOwnedBy(view, owner), isOwnedBy(view, other), isManaged(view)]).toEqual([true, false, true]);
    expect(ownerAnnotations(owner)).toEqual({ "controller-resilience.io/owner": "team/app" });
  });

  it("is not recognized on objects of other managers", () => {
    const labels = { ...ownerLabels(owner), "app.kubernetes.io/managed-by": "somebody" };
    expect([isOwnedBy({ labels }, owner), isManaged({ labels })]).toEqual([false, false]);
  });
});
