import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import { ownAudiences, ownUser, withNewestToken } from "./own-identity";

const encode = (claims: unknown) => Buffer.from(JSON.stringify(claims)).toString("base64url");

const sub = "system:serviceaccount:operators:controller-resilience";

describe("the audiences of the API server", () => {
  const audiencesOf = (claims: unknown) =>
    ownAudiences({ headers: { Authorization: `Bearer e30.${encode(claims)}.sig` } });

  it("are those of the operator's own token", () => {
    const aud = ["https://kubernetes.default.svc", "k3s"];
    expect(audiencesOf({ sub, aud: [...aud, 3] })).toEqual(aud);
    expect(audiencesOf({ sub, aud: "one" })).toEqual(["one"]);
  });

  it.each([{ sub }, { sub, aud: 7 }, { aud: ["client"], sub: "kai" }, { aud: ["x"] }, 3])(
    "are unknown for %j",
    claims => expect(audiencesOf(claims)).toEqual([]),
  );
});

describe("the operator's user name", () => {
  it("is the subject of its token, or whom it impersonates", () => {
    const token = { Authorization: `Bearer e30.${encode({ sub })}.sig` };
    expect(ownUser({ headers: token })).toBe(sub);
    expect(ownUser({ headers: { ...token, "Impersonate-User": "kai" } })).toBe("kai");
  });

  it.each([
    {},
    { Authorization: "" },
    { Authorization: "Basic dTpw" },
    { Authorization: "Bearer a.b.c" },
    { Authorization: `Bearer x.${encode({ sub: 3 })}.y` },
  ])("is unknown for %j", headers => expect(ownUser({ headers: headers as Record<string, string> })).toBeUndefined());
});

describe("a pod with several tokens", () => {
  let folder: string;
  const token = (iat: number) => `e30.${encode({ iat })}.sig`;
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  /** Returns the files that it reads with this context, at its start and after each 401. */
  const reader = (context = "inClusterContext", tokenFile = join(folder, "token")) => {
    const load = () => {
      const config = new KubeConfig();
      const user = { name: "user", authProvider: { name: "tokenFile", config: { tokenFile } } };
      const contexts = [{ name: context, cluster: "cluster", user: "user" }];
      const clusters = [{ name: "cluster", server: "https://10.96.0.1" }];
      config.loadFromOptions({ clusters, users: [user], contexts, currentContext: context });
      return config;
    };
    const loadNewest = withNewestToken(load, new FakeClock("1970-01-01T02:00:00Z"));
    return () => {
      const provider = loadNewest().getCurrentUser()?.authProvider as { config: { tokenFile: string } };
      return relative(folder, provider.config.tokenFile);
    };
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "tokens-"));
    write("token", token(1_000));
    write("token-2", token(3_000));
    write("token-3", token(2_000));
    write("token-4", "not a token");
    write("token.old", token(7_000));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it("uses the one that was issued last, and that the API server has not refused", () => {
    const next = reader();
    expect([1, 2, 3, 4, 5].map(next)).toEqual(["token-2", "token-3", "token", "token-4", "token-2"]);
    write("token", token(4_000));
    expect([1, 2, 3].map(next)).toEqual(["token", "token-3", "token-4"]);
  });

  it("uses one of a server whose clock is ahead only without another", () => {
    write("token", token(9_000));
    expect([1, 2, 3, 4].map(reader())).toEqual(["token-2", "token-3", "token-4", "token"]);
  });

  it("uses the file of a kubeconfig as it stands, and one whose folder cannot be read", () => {
    expect(reader("mine")()).toBe("token");
    expect(reader("inClusterContext", join(folder, "no", "token"))()).toBe("no/token");
  });
});
