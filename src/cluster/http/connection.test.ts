import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { type AddressInfo, connect, createServer as createSocketServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { systemClock } from "../system";
import { authority, issue, named } from "../testing/certificates";
import { StandIn } from "../testing/fake-server";
import { Api } from "./api";
import { Connection, loadKubeConfig, locateCluster } from "./connection";

const SERVICE_ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "connection-"));
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "10.96.0.1");
  vi.stubEnv("KUBERNETES_SERVICE_PORT", "443");
});

afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

/** The kubeconfig that client-node derives from a pod's own files. */
function podConfig(namespace?: string): () => KubeConfig {
  const pod = join(folder, String(namespace?.length));
  mkdirSync(join(pod, SERVICE_ACCOUNT), { recursive: true });
  if (namespace !== undefined) writeFileSync(join(pod, SERVICE_ACCOUNT, "namespace"), namespace);
  return () => {
    const config = new KubeConfig();
    config.loadFromCluster(pod);
    return config;
  };
}

function kubeconfig(text: string): () => KubeConfig {
  return () => {
    const config = new KubeConfig();
    config.loadFromString(text);
    return config;
  };
}

describe("locateCluster", () => {
  it("returns the namespace of its own pod", () => {
    expect(locateCluster(podConfig("operators\n"))).toEqual({
      server: "https://10.96.0.1:443",
      context: "inClusterContext",
      podNamespace: "operators",
    });
  });

  it("omits the namespace if the pod has no such file", () => {
    expect(locateCluster(podConfig())).toEqual({ server: "https://10.96.0.1:443", context: "inClusterContext" });
  });

  /** A kubeconfig with contexts of these names, each for a cluster of its own. */
  const configOf = (...names: string[]): string =>
    JSON.stringify({
      clusters: names.map(name => ({ name, cluster: { server: `https://${name}:6443` } })),
      contexts: names.map(name => ({ name, context: { cluster: name, user: "u", namespace: "somewhere" } })),
      users: [{ name: "u", user: {} }],
      "current-context": names[0],
    });

  it("takes only the server of a kubeconfig, not the namespace of its owner", () => {
    expect(locateCluster(kubeconfig(configOf("a")))).toEqual({ server: "https://a:6443", context: "a" });
  });

  it("shows no password of the server's address, which reports and logs name", () => {
    const config = configOf("a").replace("https://a:", "https://ann:secret@a:");
    expect(locateCluster(kubeconfig(config)).server).toBe("https://a:6443");
  });

  it("returns the context by which the kubeconfig leads to the same cluster, whatever is the current one then", () => {
    const file = join(folder, "two-contexts");
    vi.stubEnv("KUBECONFIG", file);
    writeFileSync(file, configOf("a", "b"));
    const { context } = locateCluster();
    writeFileSync(file, configOf("b", "a"));
    expect(loadKubeConfig(context).getCurrentCluster()?.server).toBe("https://a:6443");
    expect(loadKubeConfig().getCurrentCluster()?.server).toBe("https://b:6443");
    vi.stubEnv("KUBECONFIG", undefined);
  });

  it("throws with what it expected if there is no configuration", () => {
    const nothing = (): KubeConfig => {
      const config = new KubeConfig();
      config.loadFromClusterAndUser(
        { name: "cluster", server: "http://localhost:8080", skipTLSVerify: false },
        { name: "user" },
      );
      return config;
    };
    expect(() => locateCluster(nothing)).toThrow("found no cluster; expected a kubeconfig");
  });
});

it("sends no credentials without TLS, as kubectl does", async () => {
  const server = new StandIn();
  const text = JSON.stringify({
    clusters: [{ name: "c", cluster: { server: await server.start(), "insecure-skip-tls-verify": true } }],
    users: [{ name: "u", user: { token: "secret", username: "ann", password: "secret" } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    "current-context": "c",
  });
  const connection = new Connection(kubeconfig(text), systemClock);
  await new Api(connection, systemClock, { userAgent: "t" }).bytes({ what: "get /", path: "/" });
  connection.close();
  await server.stop();
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
});

describe("behind a proxy", () => {
  const ca = authority();
  const { key, certificate } = issue("server", named("10.9.8.7", "localhost", "api.example.test"), ca);
  const server = createServer({ key, cert: certificate }, (_, response) => response.end("{}"));
  let asked: string;
  const pass = (socket: Socket, target: string, answer: string | Buffer): void => {
    asked = target;
    socket.write(answer);
    const upstream = connect((server.address() as AddressInfo).port, "127.0.0.1");
    upstream.pipe(socket).pipe(upstream);
    for (const end of [socket, upstream]) end.on("error", () => end.destroy());
  };
  /** SOCKS 5 (RFC 1928), or CONNECT. */
  const proxy = createSocketServer(socket => {
    socket.once("data", hello => {
      const [, target] = /^CONNECT (\S+)/.exec(hello.toString("latin1")) ?? [];
      if (target !== undefined) pass(socket, target, "HTTP/1.1 200 OK\r\n\r\n");
      else socket.write(Buffer.from([5, 0]));
      if (target === undefined)
        socket.once("data", words => {
          const isName = words[3] === 3;
          const host = isName ? words.subarray(5, -2).toString() : words.subarray(4, -2).join(".");
          pass(socket, `${host}:${words.readUInt16BE(words.length - 2)}`, Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
        });
    });
  });
  beforeAll(async () => {
    for (const one of [server, proxy]) await new Promise<void>(resolve => one.listen(0, "::", resolve));
  });
  afterAll(() => {
    server.closeAllConnections();
    for (const one of [server, proxy]) one.close();
  });

  it.each<[string, string, object?]>([
    ["http://127.0.0.1", "[fd00::1]:6443", { tlsServerName: "api.example.test" }],
    ["http://[::1]", "api.example.test:6443"],
    ["socks5://127.0.0.1", "api.example.test:6443"],
    ["socks5://[::1]", "api.example.test:6443"],
    ["socks5://127.0.0.1", "10.9.8.7:6443"],
  ])("%s reaches %s, as Go does", async (through, address, more = {}) => {
    expect((await ask(through, address, more)).toString()).toBe("{}");
    expect(asked).toBe(address);
  });

  it("does not trust a certificate without the server's address", async () => {
    await expect(ask("socks5://127.0.0.1", "10.1.1.1:6443")).rejects.toThrow("10.1.1.1 is not in the cert's list");
  });

  async function ask(through: string, address: string, more: object = {}): Promise<Buffer> {
    const proxyUrl = `${through}:${(proxy.address() as AddressInfo).port}`;
    const caData = Buffer.from(ca.certificate).toString("base64");
    const cluster = { name: "c", server: `https://${address}`, caData, proxyUrl, skipTLSVerify: false, ...more };
    const connection = new Connection(() => {
      const config = new KubeConfig();
      config.loadFromClusterAndUser(cluster, { name: "u" });
      return config;
    }, systemClock);
    try {
      return await new Api(connection, systemClock, { userAgent: "t" }).bytes({ what: "get /", path: "/" });
    } finally {
      connection.close();
    }
  }
});
