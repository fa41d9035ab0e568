import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compilePatterns } from "./patterns";

describe("patterns", () => {
  it("match the record without prefixes and colors", () => {
    const compiled = compilePatterns(["^token .* rejected$", "E40[13]"]);
    expect(compiled.ok && compiled.match("2024-03-01T09:12:44.113Z stderr F \x1b[31mtoken abc rejected\x1b[0m")).toBe(
      true,
    );
    expect(compiled.ok && compiled.match("code E401 again")).toBe(true);
    expect(compiled.ok && compiled.match("nothing of the kind")).toBe(false);
  });

  it("match nothing without patterns", () => {
    const compiled = compilePatterns([]);
    expect(compiled.ok && compiled.match("Unauthorized")).toBe(false);
  });

  it.each([
    ["a(b", 1, "missing closing )"],
    ["a)b", 1, "unexpected )"],
    ["[(]a)", 4, "unexpected )"],
    ["x[a-", 1, "missing closing ]"],
    ["ab**", 2, "invalid nested repetition operator"],
    ["\\** ok **", 7, "invalid nested repetition operator"],
    ["y(?=x)", 1, "Perl syntax"],
    ["(a)\\1", 3, "invalid escape sequence"],
    ["x{2000}", 1, "invalid repeat count"],
    ["a\\", 1, "trailing backslash"],
    ["x*", 0, "empty string"],
    ["", 0, "empty string"],
    ["\\b", 0, "empty string"],
    ["a".repeat(1025), 1024, "longer than 1024"],
  ])("%j is refused at %i: %s", (pattern, position, message) => {
    const compiled = compilePatterns(["fine", pattern]);
    expect(compiled).toMatchObject({ ok: false, errors: [{ index: 1, pattern, position }] });
    expect(compiled.ok ? "" : compiled.errors[0]?.message).toContain(message);
  });

  it("report every invalid pattern", () => {
    const compiled = compilePatterns(["(", "a", ")"]);
    expect(compiled.ok ? [] : compiled.errors.map(e => e.index)).toEqual([0, 2]);
  });

  it("never throw, and report a position inside the pattern", () => {
    const pattern = fc.string({ unit: fc.constantFrom(...Array.from("ab()[]{}*+?|\\^$.-,1:=<>P")), maxLength: 12 });
    fc.assert(
      fc.property(pattern, text => {
        const compiled = compilePatterns([text]);
        if (compiled.ok) return;
        for (const { position } of compiled.errors) {
          expect(position).toBeGreaterThanOrEqual(0);
          expect(position).toBeLessThanOrEqual(text.length);
        }
      }),
    );
  });
});
