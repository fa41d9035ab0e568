import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import type { Access } from "./connection";
import { issuedAt, OwnIdentity, useNewestToken } from "./own-identity";

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

describe("a pod with several tokens", () => {
  let folder: string;
  const token = (iat: number) => `e30.${encode({ iat })}.sig`;
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  /** The file that a configuration with this context reads. */
  const fileOf = (context: string, tokenFile = join(folder, "token")) => {
    const config = new KubeConfig();
    const user = { name: "user", authProvider: { name: "tokenFile", config: { tokenFile } } };
    config.loadFromOptions({
      clusters: [{ name: "cluster", server: "https://10.96.0.1" }],
      users: [user],
      contexts: [{ name: context, cluster: "cluster", user: "user" }],
      currentContext: context,
    });
    const provider = useNewestToken(config).getCurrentUser()?.authProvider as { config: { tokenFile: string } };
    return provider.config.tokenFile;
  };

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "tokens-"));
    write("token", token(1_000));
    write("token-2", token(3_000));
    write("token-3", token(2_000));
    write("token-4", "not a token");
    write("token.old", token(9_000));
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  it("uses the one that was issued last", () => {
    expect(fileOf("inClusterContext")).toBe(join(folder, "token-2"));
    write("token", token(4_000));
    expect(fileOf("inClusterContext")).toBe(join(folder, "token"));
  });

  it("uses the file of a kubeconfig as it stands, and one whose folder cannot be read", () => {
    write("token-3", token(5_000));
    expect(fileOf("mine")).toBe(join(folder, "token"));
    expect(fileOf("inClusterContext", "/nowhere/token")).toBe("/nowhere/token");
  });
});
