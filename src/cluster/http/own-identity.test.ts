import { describe, expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import type { Access } from "./connection";
import { issuedAt, OwnIdentity } from "./own-identity";

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

describe("the audiences of the API server", () => {
  const audiencesOf = (claims: unknown) => {
    const headers = { Authorization: `Bearer e30.${encode(claims)}.sig` };
    const access = () => Promise.resolve({ headers } as unknown as Access);
    return new OwnIdentity(undefined as never, { access }, new FakeClock()).audiences();
  };
  const sub = "system:serviceaccount:operators:controller-resilience";

  it("are those of the operator's own token", async () => {
    expect(await audiencesOf({ sub, aud: ["https://kubernetes.default.svc", "k3s", 3] })).toEqual([
      "https://kubernetes.default.svc",
      "k3s",
    ]);
    expect(await audiencesOf({ sub, aud: "one" })).toEqual(["one"]);
  });

  it.each([{ sub }, { sub, aud: 7 }, { aud: ["client"], sub: "kai" }, { aud: ["x"] }, 3])(
    "are unknown for %j",
    async claims => expect(await audiencesOf(claims)).toEqual([]),
  );
});

describe("the operator's user name", () => {
  const sub = "system:serviceaccount:operators:controller-resilience";
  const userOf = (headers: Record<string, string>) => {
    const access = () => Promise.resolve({ headers } as unknown as Access);
    return new OwnIdentity(undefined as never, { access }, new FakeClock()).user();
  };

  it("is the subject of its token, or whom it impersonates", async () => {
    const token = { Authorization: `Bearer e30.${encode({ sub })}.sig` };
    expect(await userOf(token)).toBe(sub);
    expect(await userOf({ ...token, "Impersonate-User": "kai" })).toBe("kai");
  });

  it.each([{}, { Authorization: "Bearer opaque" }, { Authorization: `Bearer x.${encode({ sub: 3 })}.y` }])(
    "is unknown for %j",
    async headers => expect(await userOf(headers as Record<string, string>)).toBeUndefined(),
  );
});
