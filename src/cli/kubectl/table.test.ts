import { describe, expect, it } from "vitest";
import { formatTable } from "./terminal";

const ROWS = [
  ["a/b", "one two three four five six seven eight"],
  ["a-much-longer-name/c", "short"],
];

describe("a table", () => {
  it("has columns two spaces apart, and no borders", () => {
    expect(formatTable(["NAME", "WHY"], ROWS)).toBe(
      [
        "NAME                  WHY",
        "a/b                   one two three four five six seven eight",
        "a-much-longer-name/c  short",
        "",
      ].join("\n"),
    );
  });

  it("wraps its last column, so that it is at most as wide as the terminal", () => {
    const lines = formatTable(["NAME", "WHY"], ROWS, 50).split("\n");
    expect(lines[2]).toBe("                      seven eight");
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(50);
  });

  it("prints the head alone without rows", () => expect(formatTable(["NAME", "WHY"], [])).toBe("NAME  WHY\n"));
});
