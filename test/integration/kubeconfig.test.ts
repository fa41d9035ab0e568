import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createPlainServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer, type Server as SecureServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, expect, it } from "vitest";
import { run } from "../../src/cli/kubectl/testing/run";
import { authority, issue, named } from "../../src/cluster/testing/certificates";
import { foldersOf } from "../lab/folders";
import { suiteLab } from "./suite-lab";

// The plugin and the lab's kubectl, with the same kubeconfigs: both send the same credentials to the same server, or none.

/** What a server has seen of a request. */
interface Seen {
  readonly url: string;
  readonly headers: Record<string, string | string[]>;
  /** Common name of the client's certificate. */
  readonly certificate?: string;
  readonly serverName?: string;
  /** What the proxy was asked to connect to. */
  readonly proxied: readonly string[];
}

const PATH = "/apis/controller-resilience.io";
const folder = mkdtempSync(join(tmpdir(), "kubeconfig-"));
const ca = authority();
const serverParty = issue("server", named("api.example.test", "localhost", "127.0.0.1"), ca);
const client = issue("ann", [], ca);
let seen: Seen[] = [];
let proxied: string[] = [];
let isSilent = false;
let secure: SecureServer;
let plain: Server;
let proxy: Server;

beforeAll(async () => {
  const parties = { key: serverParty.key, cert: serverParty.certificate, ca: ca.certificate };
  secure = createServer({ ...parties, requestCert: true, rejectUnauthorized: false }, answer);
  plain = createPlainServer(answer);
  proxy = createPlainServer();
  // Whatever name it is asked for, the proxy connects to the server.
  proxy.on("connect", ({ url = "" }: IncomingMessage, socket: Socket) => {
    proxied.push(url);
    const upstream = connect(portOf(secure), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [socket, upstream]) end.on("error", () => end.destroy());
  });
  for (const server of [secure, plain, proxy])
    await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  write("ca.crt", ca.certificate);
  write("other-ca.crt", authority().certificate);
  write("client.crt", client.certificate);
  write("client.key", client.key);
  write("token", "of-a-file\n");
});

afterAll(() => {
  rmSync(folder, { recursive: true });
  for (const server of [secure, plain, proxy]) {
    server.closeAllConnections();
    server.close();
  }
});

function answer(request: IncomingMessage, response: ServerResponse): void {
  const socket = request.socket as Partial<TLSSocket>;
  const headers = Object.entries(request.headersDistinct).filter(([name]) =>
    /^(authorization|impersonate-)/.test(name),
  );
  const peer = socket.getPeerCertificate?.() as { subject?: { CN?: string } } | undefined;
  seen.push({
    url: (request.url ?? "").split("?")[0] ?? "",
    headers: Object.fromEntries(headers.map(([name, values = []]) => [name, values])),
    ...(peer?.subject?.CN !== undefined && { certificate: peer.subject.CN }),
    ...(typeof socket.servername === "string" && { serverName: socket.servername }),
    proxied,
  });
  if (!isSilent) response.writeHead(200, { "Content-Type": "application/json" }).end('{"versions":[]}');
}

function portOf(server: Pick<Server, "address">): number {
  return (server.address() as AddressInfo).port;
}

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** A kubeconfig, how it is chosen, and the flags of both programs. */
interface Case {
  readonly user?: object | null;
  readonly cluster?: object;
  readonly context?: object;
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  /** Files of KUBECONFIG after the first. */
  readonly more?: readonly object[];
}

function config({ user, cluster, context }: Pick<Case, "user" | "cluster" | "context">): object {
  const server = `https://127.0.0.1:${portOf(secure)}`;
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server, "certificate-authority": "ca.crt", ...cluster } }],
    users: user === null ? [] : [{ name: "u", user: user ?? { token: "a-token" } }],
    contexts: [{ name: "here", context: { cluster: "c", user: user === null ? "" : "u", ...context } }],
    "current-context": "here",
  };
}

/** Runs both, each with a new file, and returns what each has sent, whether it has failed, and what it has said. */
async function compare({ env = {}, flags = [], more = [], ...one }: Case) {
  const files = [config(one), ...more].map((each, i) => write(`config-${i}`, JSON.stringify(each)));
  const surroundings = { ...env, KUBECONFIG: [files[0], join(folder, "missing"), ...files.slice(1)].join(":") };
  const kubectl = await observed(() => byKubectl(["get", "--raw", PATH, ...flags], surroundings));
  const plugin = await observed(() => run(["version", ...flags], surroundings));
  return { kubectl, plugin };
}

async function observed(work: () => Promise<{ code: number; stderr: string }>) {
  [seen, proxied] = [[], []];
  const { code, stderr } = await work();
  return { sent: seen.filter(({ url }) => url === PATH), failed: code !== 0, stderr };
}

function byKubectl(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ code: number; stderr: string }> {
  const program = join(foldersOf(suiteLab().name).programs, "kubectl");
  const options = { env: { PATH: process.env["PATH"], HOME: folder, ...env } };
  return new Promise(resolve => {
    const child = execFile(program, [...args], options, (error, _, stderr) =>
      resolve({ code: error === null ? 0 : 1, stderr }),
    );
    // Without a user kubectl asks for one.
    child.stdin?.end();
  });
}

/** A credential plugin whose token is what it was told. */
const ECHO = `const { spec } = JSON.parse(process.env.KUBERNETES_EXEC_INFO); const sorted = value => value && typeof value === "object" && !Array.isArray(value) ? Object.fromEntries(Object.keys(value).sort().filter(k => value[k] !== null && value[k] !== false).map(k => [k, sorted(value[k])])) : value; process.stderr.write("log in first\\n"); console.log(JSON.stringify({ kind: "ExecCredential", apiVersion: "client.authentication.k8s.io/v1", status: { token: Buffer.from(JSON.stringify(sorted(spec))).toString("base64") } }));`;
const exec = (command: string, more: object = {}): object => ({
  exec: { apiVersion: "client.authentication.k8s.io/v1", command, interactiveMode: "IfAvailable", ...more },
});
const data = (text: string): string => Buffer.from(text).toString("base64");
const PROXIED = { server: "https://api.example.test:6443" };
const through = (more: object = {}): Readonly<Record<string, string>> => ({
  HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}`,
  ...more,
});
const everyone = {
  token: "t",
  as: "jürgen 日",
  "as-groups": ["a", "b"],
  "as-uid": "7",
  "as-user-extra": { "example.com/Role": ["x", "y"], "a(b)%": ["z"] },
};

type Row = readonly [string, () => Case, "sends" | "sends nothing"];
function except(variable: string, names: string, what: Row[2]): Row {
  return [`${variable}=${names}`, () => ({ cluster: PROXIED, env: through({ [variable]: names }) }), what];
}

const CASES: readonly Row[] = [
  ["a token", () => ({}), "sends"],
  ["a token in a file", () => ({ user: { tokenFile: "token" } }), "sends"],
  ["a token and another in a file", () => ({ user: { token: "b", tokenFile: "token" } }), "sends"],
  ["a token in a file that is missing", () => ({ user: { tokenFile: "gone" } }), "sends nothing"],
  ["a user and a password", () => ({ user: { username: "ann", password: "secret" } }), "sends"],
  ["a user that does not exist", () => ({ context: { user: "gone" } }), "sends nothing"],
  [
    "a client certificate in files",
    () => ({ user: { "client-certificate": "client.crt", "client-key": "client.key" } }),
    "sends",
  ],
  [
    "a client certificate as data",
    () => ({
      user: { "client-certificate-data": data(client.certificate), "client-key-data": data(client.key) },
    }),
    "sends",
  ],
  ["a credential plugin", () => ({ user: exec("node", { args: ["-e", ECHO] }) }), "sends"],
  [
    "a credential plugin that asks for the cluster",
    () => ({ user: exec("node", { args: ["-e", ECHO], provideClusterInfo: true }) }),
    "sends",
  ],
  ["a credential plugin beside the kubeconfig", () => ({ user: exec("./login") }), "sends"],
  [
    "a credential plugin that fails",
    () => ({ user: exec("sh", { args: ["-c", "echo log in first >&2; exit 1"] }) }),
    "sends nothing",
  ],
  ["an impersonation", () => ({ user: everyone }), "sends"],
  ["an impersonation by flags", () => ({ user: everyone, flags: ["--as", "bob", "--as-group", "c"] }), "sends"],
  ["empty", () => ({ user: everyone, flags: ["--as=", "--context=", "--kubeconfig=", "--request-timeout="] }), "sends"],
  [
    "all flags of an impersonation",
    () => ({
      flags: ["--as=bob", "--as-group=c", "--as-group=d"],
    }),
    "sends",
  ],
  ["groups without a user", () => ({ flags: ["--as-group", "c"] }), "sends nothing"],
  ["a proxy", () => ({ cluster: { ...PROXIED, "proxy-url": `http://127.0.0.1:${portOf(proxy)}` } }), "sends"],
  ["a proxy in the environment", () => ({ cluster: PROXIED, env: through() }), "sends"],
  [
    "a proxy in the environment, in lower case and without a scheme",
    () => ({ cluster: PROXIED, env: { https_proxy: `127.0.0.1:${portOf(proxy)}` } }),
    "sends",
  ],
  ["a proxy that is not for this machine", () => ({ env: through() }), "sends"],
  ...["api.example.test", ".example.test", "example.test", "*.example.test", "a.test, api.example.test:6443", "*"].map(
    names => except("NO_PROXY", names, "sends nothing"),
  ),
  ...["other.test", "api.example.test:443", "ple.test", "10.0.0.0/8", "10.0.0.0/33"].map(names =>
    except("no_proxy", names, "sends"),
  ),
  ["a server of another authority", () => ({ cluster: { "certificate-authority": "other-ca.crt" } }), "sends nothing"],
  [
    "an authority as data",
    () => ({ cluster: { "certificate-authority": "", "certificate-authority-data": data(ca.certificate) } }),
    "sends",
  ],
  [
    "a server that is not verified",
    () => ({ cluster: { "certificate-authority": "", "insecure-skip-tls-verify": true } }),
    "sends",
  ],
  ["a name of the server", () => ({ cluster: { "tls-server-name": "api.example.test" } }), "sends"],
  ["a wrong name of the server", () => ({ cluster: { "tls-server-name": "other.example.test" } }), "sends nothing"],
  [
    "a plain http server",
    () => ({ user: everyone, cluster: { server: `http://127.0.0.1:${portOf(plain)}` } }),
    "sends",
  ],
  [
    "a token in a file that is missing, for a plain http server",
    () => ({ user: { tokenFile: "gone" }, cluster: { server: `http://127.0.0.1:${portOf(plain)}` } }),
    "sends",
  ],
  ["others that are not valid", () => ({ more: [{ clusters: [{ name: "x" }], contexts: [{ name: "x" }] }] }), "sends"],
  [
    "several files",
    () => ({
      more: [
        { ...config({ user: { token: "of-the-second" }, context: { user: "gone" } }), "current-context": "there" },
      ],
    }),
    "sends",
  ],
];

it.each(CASES)("%s: as kubectl does", async (_, make, what) => {
  write("login", `#!/bin/sh\nexec node -e '${ECHO}'\n`);
  chmodSync(join(folder, "login"), 0o700);
  const { kubectl, plugin } = await compare(make());
  expect({ ...plugin, stderr: "" }, plugin.stderr).toEqual({ ...kubectl, stderr: "" });
  expect(kubectl.sent).toHaveLength(what === "sends" ? 1 : 0);
  // The words of a credential plugin.
  expect(plugin.stderr.includes("log in first")).toBe(kubectl.stderr.includes("log in first"));
});

it("--request-timeout ends a request to a server that does not answer, as kubectl does", async () => {
  isSilent = true;
  const { kubectl, plugin } = await compare({ flags: ["--request-timeout=3s"] });
  isSilent = false;
  expect([kubectl.failed, plugin.failed]).toEqual([true, true]);
  expect(plugin.sent.length).toBeGreaterThan(0);
});
