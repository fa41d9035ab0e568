import { spawn, type SpawnOptions } from "node:child_process";
import { readFileSync } from "node:fs";
import { BlockList, isIP } from "node:net";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { parseAllDocuments } from "yaml";
import { bareHost, tellPlugin } from "../../cluster/http/connection";
import { TerminalError } from "../../core/errors";
import { arrayOf, objectOf, textOf } from "../../core/json";
import type { Io } from "./terminal";

// The kubeconfig by kubectl's rules (client-go, tools/clientcmd), where those of client-node differ.

/** kubectl's flags that choose the cluster and the identity. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly as?: string;
  readonly asGroup?: readonly string[];
}

/** A kubeconfig, and the headers by which every request impersonates someone. */
export interface Chosen {
  /** Name of the context; absent in a pod. */
  readonly context?: string;
  readonly config: KubeConfig;
  readonly impersonation: Readonly<Record<string, string | string[]>>;
}

type Surroundings = Pick<Io, "env" | "stdin" | "stderr">;

/** Fields of an object in a kubeconfig, which are completed in place. */
type Fields = Record<string, unknown>;

interface Entries {
  readonly clusters: Fields[];
  readonly users: Fields[];
  readonly contexts: Fields[];
  readonly current: string | undefined;
}

/**
 * Loads the kubeconfig: the file of the flag, or the files of KUBECONFIG, or ~/.kube/config, or a pod's ServiceAccount.
 *
 * @throws TerminalError if a file is not usable, or a flag names something that the kubeconfig does not have
 */
export function loadChosen(flags: ClusterFlags, io: Surroundings): Chosen {
  const config = new KubeConfig();
  const entries = readFiles(flags.kubeconfig, io.env);
  if (entries === undefined) {
    if (flags.context) throw new TerminalError(`there is no kubeconfig, and so no context "${flags.context}"`);
    config.loadFromDefault();
    return { config, impersonation: impersonationOf({}, flags) };
  }
  const context = flags.context || entries.current || "";
  const place = placeOf(entries, context);
  const { cluster, user } = place;
  const impersonation = impersonationOf(user, flags);
  completeCluster(cluster, io.env);
  completeUser(user, cluster);
  loadInto(config, place);
  const isInteractive = io.stdin.isTTY === true && objectOf(user["exec"])["interactiveMode"] !== "Never";
  tellPlugin(config, isInteractive, () => clusterInfo(cluster));
  letPluginSpeak(config, isInteractive, io);
  return { config, impersonation, context };
}

/** Whether the other contexts are valid does not matter. */
function loadInto(config: KubeConfig, { cluster, user, namespace }: ReturnType<typeof placeOf>): void {
  const name = "chosen";
  const entries = {
    ...{ clusters: [{ name, cluster }], users: [{ name, user }] },
    contexts: [{ name, context: { cluster: name, user: name, namespace } }],
  };
  try {
    config.loadFromString(JSON.stringify({ ...entries, "current-context": name }));
  } catch {
    throw new TerminalError("the kubeconfig is not valid");
  }
}

/** Merges the files: of entries with the same name the first counts. Undefined if there is no file. */
function readFiles(chosen: string | undefined, env: Io["env"]): Entries | undefined {
  const ofEnv = (env["KUBECONFIG"] ?? "").split(delimiter).filter(Boolean);
  const named = chosen ? [chosen] : ofEnv;
  const files = named.length > 0 ? named : [join(homedir(), ".kube", "config")];
  const read = files.map(readConfig).filter(file => file !== undefined);
  const [first] = named;
  // One of several files may be missing, and the usual file.
  if (read.length === 0 && first !== undefined)
    throw new TerminalError(`failed to read the kubeconfig ${first} (ENOENT)`);
  if (read.length === 0) return undefined;
  const entries = (list: string): Fields[] => {
    const all = read.flatMap(file => arrayOf(file[list])).map(fieldsOf);
    return all.filter(({ name }, i) => all.findIndex(one => one["name"] === name) === i);
  };
  return {
    ...{ clusters: entries("clusters"), users: entries("users"), contexts: entries("contexts") },
    current: read.map(file => textOf(file["current-context"])).find(Boolean),
  };
}

function fieldsOf(value: unknown): Fields {
  return objectOf(value) as Fields;
}

/** @throws the parser's error */
function firstDocument(text: string): Fields {
  const [document] = parseAllDocuments(text, { uniqueKeys: false, merge: true });
  const [error] = document?.errors ?? [];
  if (error !== undefined) throw error;
  return fieldsOf(document?.toJS());
}

/** Returns undefined for a file that does not exist. @throws TerminalError; a parser's text quotes the file, secrets included */
function readConfig(file: string): Fields | undefined {
  try {
    const config = firstDocument(readFileSync(file, "utf8"));
    for (const entry of [...arrayOf(config["clusters"]), ...arrayOf(config["users"])].map(fieldsOf))
      resolvePaths(fieldsOf(entry["cluster"] ?? entry["user"]), dirname(file));
    return config;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new TerminalError(
      syscall === undefined
        ? `the kubeconfig ${file} is not valid`
        : `failed to read the kubeconfig ${file} (${code ?? "unknown error"})`,
    );
  }
}

/** Paths in a kubeconfig begin at its folder, that of a command only if it has a slash. */
function resolvePaths(fields: Fields, folder: string): void {
  const begin = (of: Fields, name: string): void => {
    const path = textOf(of[name]);
    if (path !== undefined && path !== "") of[name] = resolve(folder, path);
  };
  for (const name of ["certificate-authority", "client-certificate", "client-key", "tokenFile"]) begin(fields, name);
  const exec = fieldsOf(fields["exec"]);
  if (textOf(exec["command"])?.includes("/") === true) begin(exec, "command");
}

/** A context without a user is anonymous. */
function placeOf({ contexts, clusters, users }: Entries, context: string) {
  if (context === "") throw new TerminalError("the kubeconfig has no current context: choose one with --context");
  const { cluster, user, namespace } = entryOf(contexts, "context", context);
  return { cluster: entryOf(clusters, "cluster", cluster), user: user ? entryOf(users, "user", user) : {}, namespace };
}

function entryOf(entries: readonly Fields[], kind: string, name: unknown): Fields {
  const entry = entries.find(one => one["name"] === name);
  if (entry !== undefined) return fieldsOf(entry[kind]);
  const known = entries.map(one => String(one["name"])).join(", ") || "none";
  throw new TerminalError(`the kubeconfig has no ${kind} "${String(name)}"; expected one of: ${known}`);
}

function completeCluster(cluster: Fields, env: Io["env"]): void {
  // client-node compares the scheme as it is written. For kubectl a server without one is an http server.
  const written = textOf(cluster["server"]) ?? "";
  const server = /^(https?:\/\/|$)/i.test(written)
    ? written.replace(/^https?:/i, scheme => scheme.toLowerCase())
    : `http://${written}`;
  cluster["server"] = server;
  cluster["proxy-url"] ||= proxyOf(server, env);
  // Else client-node refuses http.
  if (server.startsWith("http:")) cluster["insecure-skip-tls-verify"] = true;
}

function completeUser(user: Fields, { server }: Fields): void {
  // It becomes a header.
  Reflect.deleteProperty(user, "as");
  const file = textOf(user["tokenFile"]);
  // An http server gets no credentials, so kubectl reads none for it.
  if (file && textOf(server)?.startsWith("http:") !== true) user["token"] = readNamed("token", file).toString().trim();
}

function readNamed(what: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new TerminalError(`failed to read the ${what} ${file} (${code})`);
  }
}

/** Returns the proxy of the environment for a server, as Go chooses it (golang.org/x/net/http/httpproxy): none for this machine, nor for what NO_PROXY names. */
export function proxyOf(server: string, env: Io["env"]): string | undefined {
  if (!URL.canParse(server)) return undefined;
  const { protocol, hostname, port } = new URL(server);
  const [scheme, usual] = protocol === "https:" ? ["HTTPS", "443"] : ["HTTP", "80"];
  const of = (name: string): string => env[name] || env[name.toLowerCase()] || "";
  const proxy = of(`${scheme}_PROXY`);
  if (proxy === "" || isExempt(bareHost(hostname), port || usual, of("NO_PROXY"))) return undefined;
  return /^[a-z0-9+]+:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
}

function isExempt(host: string, port: string, exceptions: string): boolean {
  const entries = ["127.0.0.0/8", "::1", ...exceptions.toLowerCase().split(",")];
  return host === "localhost" || entries.some(entry => isNamedBy(entry.trim(), host, port));
}

/** A name with a dot before it names only what is below it. An IPv6 address has brackets if it has a port, and only then. */
function isNamedBy(entry: string, host: string, port: string): boolean {
  const [, ipv6, name = ipv6 ?? entry, only = port] = /^(?:\[([^\]/]+)\]|([^:/]+)):(\d+)$/.exec(entry) ?? [];
  if (entry === "" || only !== port) return false;
  return entry === "*" || host === name || host.endsWith(name.replace(/^(\*?\.)?/, ".")) || isInNetwork(host, name);
}

/** @param network with bits, or an address; what is neither names nothing */
function isInNetwork(host: string, network: string): boolean {
  const [family, longest] = isIP(host) === 6 ? (["ipv6", 128] as const) : (["ipv4", 32] as const);
  const [, address = "", bits = longest] = /^([^/]+)(?:\/(\d+))?$/.exec(network) ?? [];
  if (isIP(address) === 0 || isIP(address) !== isIP(host) || Number(bits) > longest) return false;
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family);
  return list.check(host, family);
}

/** Returns the headers of an impersonation: each flag wins over its field. */
function impersonationOf(user: Fields, flags: ClusterFlags): Chosen["impersonation"] {
  const headers: Record<string, string | string[]> = {
    "Impersonate-User": bytesOf(flags.as || (user["as"] ?? "")),
    "Impersonate-Group": (flags.asGroup ?? arrayOf(user["as-groups"])).map(bytesOf),
    "Impersonate-Uid": bytesOf(user["as-uid"] ?? ""),
  };
  for (const [key, values] of Object.entries(objectOf(user["as-user-extra"])))
    headers[`Impersonate-Extra-${escaped(key)}`] = arrayOf(values).map(bytesOf);
  const used = Object.entries(headers).filter(([, values]) => values.length > 0);
  if (headers["Impersonate-User"] === "" && used.length > 0)
    throw new TerminalError("an impersonation of groups, a UID or extras: expected a user, of --as or the kubeconfig");
  return Object.fromEntries(used);
}

/** The value of a header in UTF-8: Node sends each character as one byte. */
function bytesOf(value: unknown): string {
  return Buffer.from(String(value)).toString("latin1");
}

/** HTTP forbids brackets in the name of a header. */
function escaped(key: string): string {
  return encodeURIComponent(key).replaceAll("(", "%28").replaceAll(")", "%29");
}

/** The cluster as a credential plugin that asks for it (provideClusterInfo) gets it. */
function clusterInfo(cluster: Fields): object {
  const { server, "tls-server-name": serverName, "insecure-skip-tls-verify": insecure, "proxy-url": proxy } = cluster;
  const extensions = arrayOf(cluster["extensions"]).map(objectOf);
  const file = textOf(cluster["certificate-authority"]);
  return {
    ...{ server, "tls-server-name": serverName, "insecure-skip-tls-verify": insecure, "proxy-url": proxy },
    "certificate-authority-data":
      cluster["certificate-authority-data"] ?? (file && readNamed("certificate authority", file).toString("base64")),
    config: extensions.find(({ name }) => name === "client.authentication.k8s.io/exec")?.["extension"],
  };
}

/** A credential plugin may ask a person to log in: as with kubectl, it writes to standard error, and reads from a terminal. */
function letPluginSpeak(config: KubeConfig, isInteractive: boolean, { stderr }: Surroundings): void {
  const { authenticators } = config as unknown as { authenticators: { execFn?: object }[] };
  const plugin = authenticators.find(one => one.execFn !== undefined);
  if (plugin === undefined) return;
  plugin.execFn = (command: string, args: readonly string[] | undefined, options: SpawnOptions) => {
    const child = spawn(command, args ?? [], {
      ...options,
      stdio: [isInteractive ? "inherit" : "ignore", "pipe", "pipe"],
    });
    child.stderr.on("data", chunk => stderr.write(chunk as string));
    return child;
  };
}
