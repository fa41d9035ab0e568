import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import cfg from "../../../package.json";
import { type FakeAnswer, FakeServer } from "../../cluster/testing/fake-server";
import { run } from "./testing/run";

const root = join(__dirname, "../../..");
let answer: FakeAnswer | undefined;
let kubeconfig: string;
const served = { body: { kind: "APIGroup", versions: [{ version: "v1alpha1" }] } };
const server = new FakeServer(() => answer ?? served);
beforeAll(async () => (kubeconfig = await server.start()));
beforeEach(() => (answer = undefined));
afterEach(() => vi.unstubAllEnvs());
afterAll(() => server.stop());

/** A metav1.Status. */
function status(code: number, message: string): typeof answer {
  return { code, body: { kind: "Status", code, message } };
}

describe("the command line", () => {
  it("names an unknown command, and exits with 1", async () => {
    const { code, stderr, stdout } = await run(["nonsense"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("unknown command 'nonsense'");
  });

  it("has examples in the help of each command, the formats of each that reads, and the exit codes", async () => {
    const { stdout } = await run(["--help"]);
    expect(stdout).toMatch(/Exit codes:\n {2}0/);
    const reading = ["audit", "explain", "plan", "version"];
    const commands = [...stdout.matchAll(/^ {2}([a-z]+)(?: \[options\])?/gm)].map(([, name = ""]) => name);
    expect(commands).toEqual(expect.arrayContaining(["classify", "replay", ...reading]));
    for (const command of commands.filter(name => name !== "help" && name !== "kubectl")) {
      const { code, stdout: help } = await run([command, "--help"]);
      expect(code).toBe(0);
      expect(help).toContain("\nExamples:\n");
      if (reading.includes(command)) expect(help).toMatch(/choices:\s+"json",\s+"yaml"/);
    }
  });

  it("prints data as JSON and YAML", async () => {
    const version = ["version", "--kubeconfig", kubeconfig];
    expect(JSON.parse((await run([...version, "-o", "json"])).stdout)).toMatchObject({ served: ["v1alpha1"] });
    expect((await run([...version, "-o", "yaml"])).stdout).toMatch(/served:\n {2}- v1alpha1\n$/);
    expect((await run([...version, "-o", "table"])).stderr).toContain("Allowed choices are json, yaml.");
  });

  it("sends the user agent, and no credentials to an http server", async () => {
    await run(["version", "--kubeconfig", kubeconfig, "--as", "ann"]);
    const { "user-agent": agent, ...headers } = server.requests.at(-1)?.headers ?? {};
    expect(agent).toMatch(/^kubectl-resilience\//);
    expect([headers["impersonate-user"], headers.authorization]).toEqual(["ann", undefined]);
  });
});

it.each<[string, (config: string) => string]>([
  ["HTTP:// as the scheme of an http server", config => config.replace("http://", "HTTP://")],
  ["no scheme as that of an http server", config => config.replace("http://", "")],
  ["an http server without the token file", config => config.replace('"token":"secret-token"', '"tokenFile":"/gone"')],
  ["the first of several YAML documents", config => `${config}\n---\nkind: Config\n`],
  ["the first document before one that is broken", config => `${config}\n---\nkind: Config\n}\n---\n}`],
  [
    "the last of several keys of one name, and merges anchors",
    config => `
    shared: &shared { server: ${/"server":("[^"]*")/.exec(config)?.[1]}, insecure-skip-tls-verify: true }
    clusters: [{ name: c, cluster: { <<: *shared } }]
    users: [{ name: u, user: { token: a, token: b } }]
    contexts: [{ name: here, context: { cluster: c, user: u } }]
    current-context: here`,
  ],
])("takes %s, as kubectl does", async (_, change) => {
  writeFileSync(`${kubeconfig}-odd`, change(readFileSync(kubeconfig, "utf8")));
  expect((await run(["version", "--kubeconfig", `${kubeconfig}-odd`])).stderr).toBe("");
});

const CLIENT = `client: ${cfg.version}\n`;

it("says its own version without a cluster, and to a script only data", async () => {
  const version = ["version", "--kubeconfig", "/nonexistent"];
  expect(await run(version)).toMatchObject({ code: 1, stdout: CLIENT });
  expect(await run([...version, "-o", "json"])).toMatchObject({ code: 1, stdout: "" });
});

describe("bad input", () => {
  const version = (...args: string[]): ReturnType<typeof run> => run(["version", "--kubeconfig", kubeconfig, ...args]);

  /** Expects one sentence, exit code 1 and nothing on standard output but the version that `version` has said before. */
  async function expectSentence(running: ReturnType<typeof run>, part: string): Promise<void> {
    const { code, stdout, stderr } = await running;
    expect(stderr).toContain(part);
    expect([code, stdout.replace(CLIENT, ""), stderr.trim().split("\n").length]).toEqual([1, "", 1]);
    expect(stderr).not.toMatch(/^\s+at |secret-token/m);
  }

  it.each([
    [{}, [], "found no cluster"],
    [{}, ["--context", "staging"], 'there is no kubeconfig, and so no context "staging"'],
    [{ KUBECONFIG: "/nonexistent/config" }, [], "failed to read the kubeconfig /nonexistent/config (ENOENT)"],
  ])("is named when there is no kubeconfig: %o %o", async (env, flags, sentence) => {
    vi.stubEnv("HOME", "/nonexistent");
    vi.stubEnv("KUBECONFIG", undefined);
    await expectSentence(run(["version", ...flags], env), sentence);
  });

  it("is named when a flag names something that the kubeconfig does not have", async () => {
    await expectSentence(version("--context", "nowhere"), 'no context "nowhere"; expected one of: here, there, down');
    await expectSentence(run(["version", "--kubeconfig", "/nonexistent"]), "kubeconfig /nonexistent (ENOENT)");
    await expectSentence(
      version("--as-group", "a"),
      "an impersonation of groups, a UID or extras: expected a user, of --as",
    );
    await expectSentence(version("--request-timeout", "soon"), 'expected a duration such as 30s, got "soon"');
  });

  /** Runs with another user and another cluster. */
  function using(user: object, cluster: object = {}, ...args: string[]): ReturnType<typeof run> {
    const config = JSON.parse(readFileSync(kubeconfig, "utf8")) as object;
    const clusters = [{ name: "c", cluster: { server: "https://127.0.0.1:1", ...cluster } }];
    writeFileSync(`${kubeconfig}-changed`, JSON.stringify({ ...config, clusters, users: [{ name: "u", user }] }));
    return run(["version", "--kubeconfig", `${kubeconfig}-changed`, ...args]);
  }
  const plugin = (script: string, more: object = {}): object => ({
    exec: { apiVersion: "client.authentication.k8s.io/v1", command: "sh", args: ["-c", script], ...more },
  });

  it("has the words of a credential plugin, and nothing of what it has answered", async () => {
    expect((await using(plugin("echo log in first >&2; exit 1"))).stderr).toMatch(
      /^log in first\n.*credential plugin failed: log in first\n$/,
    );
    for (const answer of ["secret-token", "{}", '{"status":null}'])
      await expectSentence(using(plugin(`echo '${answer}'`)), "printed no ExecCredential with a status");
  });

  it("names a credential plugin that is not installed, with the hint of the kubeconfig", async () => {
    const words = "failed to start the credential plugin no-such-login (ENOENT). Install it.";
    await expectSentence(using(plugin("", { command: "no-such-login", installHint: "Install it.\n" })), words);
  });

  it("is no credential plugin that takes longer than a request may, such as to ask a person to log in", async () => {
    const login = plugin(`sleep 1.5; echo '{"status":{"token":"t"}}'`);
    await expectSentence(using(login, {}, "--request-timeout", "1s"), "cannot reach https://127.0.0.1:1: ");
  });

  it("is named when the certificate authority is missing, whoever reads it first", async () => {
    const cluster = { "certificate-authority": "/nonexistent/ca" };
    for (const user of [{}, plugin("exit 1", { provideClusterInfo: true })])
      await expectSentence(using(user, cluster), "/nonexistent/ca (ENOENT)");
  });

  it("is named when the rights are not enough", async () => {
    answer = status(403, 'groups is forbidden: User "ann"');
    await expectSentence(version(), 'forbidden (403): groups is forbidden: User "ann"; ask for this right');
  });

  it.each([
    ["version"],
    ["audit"],
    ["audit", "-n", "shop"],
    ["plan", "-f", join(root, "docs/examples/first-object.yaml")],
    ["explain", "ccres/all"],
  ])("is named by %s, too", async (...args) => {
    const call = (...more: string[]): ReturnType<typeof run> => run([...args, "--kubeconfig", kubeconfig, ...more]);
    await expectSentence(call("--context", "down"), "cannot reach http://127.0.0.1:1: ");
    answer = status(401, "Unauthorized");
    await expectSentence(call(), "does not accept your credentials (401)");
    answer = { body: { kind: "APIGroup", versions: [{ version: "v9" }] } };
    const isOwnKind = !["audit", "version"].includes(args[0]);
    if (isOwnKind) await expectSentence(call(), "serves controller-resilience.io/v9, expected v1alpha1");
  });

  it("waits when the API server asks for it", async () => {
    const before = server.requests.length;
    answer = { ...status(429, "slow down")!, headers: { "Retry-After": "0" } };
    await expectSentence(version(), "refused for now (429)");
    expect(server.requests.length - before).toBe(6);
  });
});
