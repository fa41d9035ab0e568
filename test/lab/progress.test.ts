import { describe, expect, it } from "vitest";
import { printer } from "./progress";

function stream(isTTY: boolean): { out: NodeJS.WriteStream; text: () => string } {
  let text = "";
  const out = { isTTY, columns: 30, write: (chunk: string) => (text += chunk) } as unknown as NodeJS.WriteStream;
  return { out, text: () => text };
}

describe("printer", () => {
  it("overwrites temporary text on a terminal, and keeps it on one line", () => {
    const { out, text } = stream(true);
    const progress = printer(out, () => 0);
    progress("compiling 1 of 2806 packages", true);
    progress("built");
    const cutBeforeTheEdge = "   0.0 s  compiling 1 of 2806";
    expect(text()).toBe(`\r\u001B[K${cutBeforeTheEdge}\r\u001B[K   0.0 s  built\n`);
  });

  it("prints a line every 15 s elsewhere", () => {
    const { out, text } = stream(false);
    let now = 0;
    const progress = printer(out, () => now);
    for (const second of [0, 1, 14.9, 15, 29.9, 30]) {
      now = second * 1000;
      progress(`at ${second}`, true);
    }
    expect(text()).toBe("   0.0 s  at 0\n  15.0 s  at 15\n  30.0 s  at 30\n");
  });
});
