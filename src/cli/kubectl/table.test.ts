import { describe, expect, it } from "vitest";
import { formatTable } from "./terminal";

const ROWS = [
  ["a/b", "one two three four five six seven eight"],
  ["a-much-longer-name/c", "short"],
];

describe("a table", () => {
  it("has columns two spaces apart, and no borders", () => {
    expect(formatTable([["NAME", "WHY"], ...ROWS])).toBe(
      [
        "NAME                  WHY",
        "a/b                   one two three four five six seven eight",
        "a-much-longer-name/c  short",
        "",
      ].join("\n"),
    );
  });

  it("counts no colours as width", () => {
    const rows = [
      ["A", "B"],
      ["\x1b[31mred\x1b[0m", "b"],
      ["green", "b"],
    ];
    expect(formatTable(rows)).toBe("A      B\n\x1b[31mred\x1b[0m    b\ngreen  b\n");
  });

  it("prints the head alone without rows", () => expect(formatTable([["NAME", "WHY"]])).toBe("NAME  WHY\n"));
});
