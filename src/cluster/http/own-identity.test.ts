import { describe, expect, it } from "vitest";
import { issuedAt } from "./own-identity";

const encode = (claims: unknown) => Buffer.from(JSON.stringify(claims)).toString("base64url");

describe("the age of a token", () => {
  it("is derived from its claim iat", () => {
    expect(issuedAt(`Bearer e30.${encode({ iat: 1_700_000_000, exp: 1_700_000_600 })}.sig`)).toBe(1_700_000_000_000);
  });

  it.each([
    "",
    "Bearer ",
    "Bearer opaque",
    "Bearer a.b.c",
    "Basic dTpw",
    `Bearer x.${encode({ iat: "soon" })}.y`,
    `Bearer x.${encode(3)}.y`,
  ])("is unknown for %j", header => expect(issuedAt(header)).toBeUndefined());
});
