import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ATTACKS } from "./attacks";

const read = (file: string): string => readFileSync(join(__dirname, "../..", file), "utf8");

/** Who can only do what Kubernetes itself cannot prevent there. */
const OUTSIDE = /operator's namespace|operator's token|a node|Network access/;

it.each(ATTACKS)("$by: $tries", ({ test: [file, name] }) => {
  expect(read(file)).toContain(`"${name}`);
});

it("there is an attack for each kind of access in docs/security.md, and no other", () => {
  const part = read("docs/security.md")
    .split("\n## ")
    .find(text => text.startsWith("What each kind of access gives"));
  const kinds = [...(part ?? "").matchAll(/^### (.*)$/gm)].map(([, kind = ""]) => kind);
  expect([...new Set(ATTACKS.map(({ by }) => by))]).toEqual(kinds.filter(kind => !OUTSIDE.test(kind)));
});
