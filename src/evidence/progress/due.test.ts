import { describe, expect, it } from "vitest";
import { compileDue } from "./due";

const WIDGET = {
  metadata: { name: "blue", generation: 7, labels: { class: "a" } },
  spec: { items: Array.from({ length: 3 }, (_, n) => ({ n, text: `t${n}` })), ratio: 0.5 },
  status: { observedGeneration: 6, conditions: [{ type: "Ready", status: "True", observedGeneration: 6 }] },
};

/** An object that is as large as etcd allows, and how many of its fields and items are read. */
let reads = 0;
const HUGE = { a: counted(Array.from({ length: 300_000 }, (_, n) => n % 10)), text: "a".repeat(1_000_000) };

function counted<T extends object>(object: T): T {
  const get: ProxyHandler<T>["get"] = (target, key) => (reads++, Reflect.get(target, key) as unknown);
  return new Proxy(object, { get });
}

const NESTED = "expected macros inside of each other to go through fields of object at character";

describe("due", () => {
  it.each([
    ["object.metadata.generation > object.status.observedGeneration", true],
    [
      "object.status.conditions.exists(c, c.type == 'Ready' && c.observedGeneration < object.metadata.generation)",
      true,
    ],
    ["object.spec.items.filter(i, i.n > 0).exists(i, i.text == 't1')", true],
    ["object.spec.items.exists(i, object.status.conditions.exists(c, c.observedGeneration == i.n))", false],
    ["has(object.status.phase) && object.status.phase in ['Pending', 'Running']", false],
    ["object.?status.?phase.orValue('Pending') == 'Pending'", true],
    ["object.spec.ratio < 0.6", true],
    ["object.metadata.labels['class'].startsWith('a')", true],
    ["timestamp('2025-01-01T00:00:00Z') < timestamp('2025-01-02T00:00:00Z')", true],
  ])("evaluates %s", (text, expected) => {
    expect(compileDue(text, "Widget")(WIDGET)).toBe(expected ? "due" : "done");
  });

  it.each([
    ["object.x ==", "Unexpected token: EOF at character 12"],
    ["1 + 2", "expected true or false, got a value of type int"],
    ["undeclared > 1", "Unknown variable: undeclared at character 1"],
    ["object.metadata.name.matches('(a+)+$')", "unknown function matches at character 1"],
    ["cel.bind(a, 'x', a == a)", "unknown function bind at character 1"],
    ["object.a.split('').size() > 1", "unknown function split at character 1"],
    ["[[1, 2]].all(a, a.all(b, a.all(c, true)))", `${NESTED} 1`],
    ["[1, 2].all(a, [1, 2].all(b, true))", `${NESTED} 1`],
    ["object.a.all(a, (object.a + object.a).all(b, true))", `${NESTED} 18`],
    ["'x'".padEnd(1025), "expected at most 1024 characters, got 1025"],
    [`[${"1,".repeat(300)}1].size() > 1`, "Exceeded maxAstNodes"],
  ])("refuses %s", (text, message) => {
    expect(() => compileDue(text, "Widget")).toThrow(`due of Widget does not compile: ${message}`);
  });

  it.each(["object.metadata.generation > object.status.missing", "object.metadata.name", "object.metadata.name > 1"])(
    "has no answer for an object that %s does not fit",
    text => {
      expect(compileDue(text, "Widget")(WIDGET)).toBe("unknown");
    },
  );

  it.each([
    "object.a.all(x, object.a.all(y, x + y < 99))",
    "object.a.all(x, object.a.all(y, object.a.all(z, true)))",
    "object.a.all(x, x in object.a)",
    "object.a.map(x, object.a + object.a).size() > 1",
    "object.a + object.a == object.a",
    "object.a == object.a",
    "object.a.all(x, object.text.contains('b'))",
    "[object.a + object.a, object.a].all(y, 11 in y)",
  ])("ends %s after few reads of a huge object", text => {
    reads = 0;
    expect(compileDue(text, "Widget")(HUGE)).toBe("unknown");
    expect(reads).toBeLessThanOrEqual(10_001);
  });
});
