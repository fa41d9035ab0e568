import { spawn, type SpawnOptions } from "node:child_process";
import { readFileSync } from "node:fs";
import { BlockList, isIP } from "node:net";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { parse } from "yaml";
import { tellPlugin } from "../../cluster/http/connection";
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
  readonly asUid?: string;
  readonly asUserExtra?: readonly string[];
}

/** A kubeconfig, and the headers by which every request impersonates someone. */
export interface Chosen {
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
    config.loadFromDefault();
    return { config, impersonation: impersonationOf({}, flags) };
  }
  const context = flags.context ?? entries.current ?? "";
  const { cluster, user } = placeOf(entries, context);
  const impersonation = impersonationOf(user, flags);
  completeCluster(cluster, io.env);
  completeUser(user, textOf(cluster["server"])?.startsWith("http:") === true);
  // Whether others are valid does not matter.
  const clusters = entries.clusters.filter(entry => entry["cluster"] === cluster);
  const users = entries.users.filter(entry => entry["user"] === user);
  const contexts = entries.contexts.filter(({ name }) => name === context);
  loadInto(config, { clusters, users, contexts });
  config.setCurrentContext(context);
  const isInteractive = io.stdin.isTTY === true && objectOf(user["exec"])["interactiveMode"] !== "Never";
  tellPlugin(config, isInteractive, clusterInfo(cluster));
  letPluginSpeak(config, isInteractive, io);
  return { config, impersonation };
}

function loadInto(config: KubeConfig, entries: Omit<Entries, "current">): void {
  try {
    config.loadFromString(JSON.stringify(entries));
  } catch {
    throw new TerminalError("the kubeconfig is not valid");
  }
}

/** Merges the files: of entries with the same name the first counts. Undefined if there is no file. */
function readFiles(chosen: string | undefined, env: Io["env"]): Entries | undefined {
  const ofEnv = (env["KUBECONFIG"] ?? "").split(delimiter).filter(Boolean);
  const named = chosen === undefined ? ofEnv : [chosen];
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

/** Returns undefined for a file that does not exist. @throws TerminalError; a parser's text quotes the file, secrets included */
function readConfig(file: string): Fields | undefined {
  try {
    const config = fieldsOf(parse(readFileSync(file, "utf8")));
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

/** client-node applies a cluster's settings only with a user. */
const ANONYMOUS = "(none)";

/** Returns the cluster and the user of a context. A context without a user is anonymous. */
function placeOf({ contexts, clusters, users }: Entries, context: string): { cluster: Fields; user: Fields } {
  const chosen = contexts.find(({ name }) => name === context);
  if (chosen === undefined && context !== "") {
    const known = contexts.map(({ name }) => String(name)).join(", ") || "none";
    throw new TerminalError(`the kubeconfig has no context "${context}"; expected one of: ${known}`);
  }
  const place = fieldsOf(chosen?.["context"]);
  const cluster = fieldsOf(clusters.find(({ name }) => name === place["cluster"])?.["cluster"]);
  if (!place["user"]) Object.assign(place, { user: ANONYMOUS });
  return { cluster, user: userOf(users, String(place["user"])) };
}

function userOf(users: Fields[], user: string): Fields {
  if (user === ANONYMOUS) users.push({ name: ANONYMOUS });
  const entry = users.find(({ name }) => name === user);
  if (entry === undefined) throw new TerminalError(`the kubeconfig has no user "${user}"`);
  entry["user"] ??= {};
  return fieldsOf(entry["user"]);
}

function completeCluster(cluster: Fields, env: Io["env"]): void {
  const server = textOf(cluster["server"]) ?? "";
  cluster["proxy-url"] ||= proxyOf(server, env);
  // Else client-node refuses http.
  if (server.startsWith("http:")) cluster["insecure-skip-tls-verify"] = true;
}

const CERTIFICATE = ["client-certificate", "client-certificate-data", "client-key", "client-key-data"];
const CREDENTIALS = [...CERTIFICATE, "token", "tokenFile", "exec", "auth-provider", "username", "password"];

/** @param isPlain the server is an http server, which gets no credentials */
function completeUser(user: Fields, isPlain: boolean): void {
  // These become headers.
  for (const field of ["as", ...(isPlain ? CREDENTIALS : [])]) Reflect.deleteProperty(user, field);
  const file = textOf(user["tokenFile"]) ?? "";
  if (file === "") return;
  try {
    user["token"] = readFileSync(file, "utf8").trim();
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new TerminalError(`failed to read the token ${file} (${code})`);
  }
}

/** Returns the proxy of the environment for a server, as Go's net/http chooses it: none for this machine, nor for what NO_PROXY names. */
export function proxyOf(server: string, env: Io["env"]): string | undefined {
  if (!URL.canParse(server)) return undefined;
  const { protocol, hostname, port } = new URL(server);
  const [scheme, usual] = protocol === "https:" ? ["HTTPS", "443"] : ["HTTP", "80"];
  const of = (name: string): string => env[name] || env[name.toLowerCase()] || "";
  const proxy = of(`${scheme}_PROXY`);
  if (proxy === "" || isExempt(hostname.replace(/^\[|\]$/g, ""), port || usual, of("NO_PROXY"))) return undefined;
  return /^[a-z0-9+]+:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
}

function isExempt(host: string, port: string, exceptions: string): boolean {
  if (host === "localhost" || /^127\.|^::1$/.test(host)) return true;
  const entries = exceptions.toLowerCase().split(",");
  return entries.some(text => {
    const entry = text.trim();
    return entry.includes("/") ? isInNetwork(host, entry) : entry !== "" && isNamedBy(entry, host, port);
  });
}

function isInNetwork(host: string, network: string): boolean {
  const [address = "", bits = ""] = network.split("/");
  const family = isIP(host);
  if (family === 0 || isIP(address) !== family || !/^\d{1,3}$/.test(bits)) return false;
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family === 6 ? "ipv6" : "ipv4");
  return list.check(host, family === 6 ? "ipv6" : "ipv4");
}

/** A name with a dot before it names only what is below it. */
function isNamedBy(entry: string, host: string, port: string): boolean {
  if (entry === "*" || entry === host) return true;
  const [, name = "", only = port] = /^(?:\*(?=\.))?(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  return only === port && (host === name || host.endsWith(name.startsWith(".") ? name : `.${name}`));
}

/** Returns the headers of an impersonation: each flag wins over its field. */
function impersonationOf(user: Fields, flags: ClusterFlags): Chosen["impersonation"] {
  const extra = flags.asUserExtra === undefined ? objectOf(user["as-user-extra"]) : extraOf(flags.asUserExtra);
  const headers: Record<string, string | string[]> = {
    "Impersonate-User": flags.as ?? textOf(user["as"]) ?? "",
    "Impersonate-Group": (flags.asGroup ?? arrayOf(user["as-groups"])).map(String),
    "Impersonate-Uid": flags.asUid ?? textOf(user["as-uid"]) ?? "",
  };
  for (const [key, values] of Object.entries(extra))
    headers[`Impersonate-Extra-${encodeURIComponent(key)}`] = arrayOf(values).map(String);
  const used = Object.entries(headers).filter(([, values]) => values.length > 0);
  if (headers["Impersonate-User"] === "" && used.length > 0)
    throw new TerminalError("--as-group, --as-uid and --as-user-extra: expected --as too");
  return Object.fromEntries(used);
}

function extraOf(flags: readonly string[]): Record<string, string[]> {
  const extra: Record<string, string[]> = {};
  for (const flag of flags) {
    const [, key = "", value = ""] = /^([^=]+)=(.*)$/s.exec(flag) ?? [];
    if (key === "") throw new TerminalError(`--as-user-extra: expected key=value, got "${flag}"`);
    (extra[key] ??= []).push(value);
  }
  return extra;
}

/** What a credential plugin that asks for it (provideClusterInfo) hears of the cluster. */
function clusterInfo(cluster: Fields): object {
  const { server, "tls-server-name": serverName, "insecure-skip-tls-verify": insecure, "proxy-url": proxy } = cluster;
  const extensions = arrayOf(cluster["extensions"]).map(objectOf);
  const file = textOf(cluster["certificate-authority"]);
  return {
    ...{ server, "tls-server-name": serverName, "insecure-skip-tls-verify": insecure, "proxy-url": proxy },
    "certificate-authority-data":
      cluster["certificate-authority-data"] ?? (file && readFileSync(file).toString("base64")),
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
