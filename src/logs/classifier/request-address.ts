import type { Side } from "./evidence";
import { lowerCase } from "./text";

/** Resources of the core group. Many services use `/api/v1/...`; followed by one of these it is the API server's. */
const CORE_RESOURCES = new Set([
  ...["namespaces", "pods", "nodes", "services", "endpoints", "configmaps", "secrets", "events", "serviceaccounts"],
  ...["persistentvolumes", "persistentvolumeclaims", "replicationcontrollers", "limitranges", "resourcequotas"],
  ...["podtemplates", "componentstatuses", "bindings", "watch"],
]);
/** API groups whose name is not a domain. */
const GROUPS_WITHOUT_DOT = new Set(["apps", "autoscaling", "batch", "extensions", "policy"]);
/** The API server's port with kubeadm and most installers. */
const API_SERVER_PORT = "6443";
/** Domains under which clouds run API servers. */
const API_SERVER_HOSTS = [".eks.amazonaws.com", ".azmk8s.io", ".k8s.ondigitalocean.com"];
/** Prefixes of documentation hosts. Such a URL explains an error. */
const MANUALS = [
  "docs.",
  "doc.",
  "kubernetes.io",
  "www.",
  "aka.ms",
  "developer.",
  "help.",
  "support.",
  "go.dev",
  "pkg.go.dev",
];

/** Returns the server that a URL or a path points to; null if the token is none of these or points to none. */
export function sideOfAddress(token: string): Side | null {
  const scheme = token.indexOf("://");
  if (scheme < 0) return token.startsWith("/") ? pathSide(token) : null;
  const rest = token.slice(scheme + 3);
  const slash = rest.indexOf("/");
  const authority = lowerCase(slash < 0 ? rest : rest.slice(0, slash));
  if (MANUALS.some(m => authority.startsWith(m))) return null;
  const host = hostSide(authority);
  if (host !== null) return host;
  const path = slash < 0 ? "" : rest.slice(slash);
  return isUnclear(authority, path) ? null : (pathSide(path) ?? "other");
}

/** Returns `kubernetes` for a path that only an API server serves. */
function pathSide(path: string): "kubernetes" | null {
  const query = path.indexOf("?");
  const bare = query < 0 ? path : path.slice(0, query);
  // A proxy adds a prefix to the API server's path: /k8s/clusters/c-1/api/v1/pods.
  const core = bare.indexOf("/api/v1/");
  if (core >= 0) {
    const resource = bare.slice(core + "/api/v1/".length).split("/", 1)[0] ?? "";
    if (CORE_RESOURCES.has(resource)) return "kubernetes";
  }
  return isGroupPath(bare) ? "kubernetes" : null;
}

function isUnclear(authority: string, path: string): boolean {
  // Discovery of an API server begins at /api, but so do the paths of many other services.
  if (path === "/api") return true;
  // 10.43.0.1 is an API server or a router.
  return path === "" && isFirstAddress(authority);
}

/** `/apis/<group>/<version>...` */
function isGroupPath(path: string): boolean {
  const at = path.indexOf("/apis/");
  if (at < 0) return false;
  const [group, version] = path.slice(at + "/apis/".length).split("/", 3);
  return group !== undefined && isGroup(group) && (version === undefined || VERSION.test(version));
}

/** Only the oldest API groups have a name without a dot; any service may have a single word in its path. */
function isGroup(part: string): boolean {
  return part.includes(".") || GROUPS_WITHOUT_DOT.has(part);
}

/** v1, v1beta1 or v2alpha1. */
const VERSION = /^v\d+(?:(?:alpha|beta)\d+)?$/;

function hostSide(authority: string): Side | null {
  const colon = authority.lastIndexOf(":");
  const port = colon < 0 ? "" : authority.slice(colon + 1);
  const name = colon < 0 ? authority : authority.slice(0, colon);
  if (port === API_SERVER_PORT || isApiServerName(name)) return "kubernetes";
  return null;
}

function isApiServerName(name: string): boolean {
  // 10.96.0.1 is the first address of kubeadm's default service range.
  if (name.startsWith("kubernetes.default") || name === "10.96.0.1") return true;
  return API_SERVER_HOSTS.some(end => name.endsWith(end));
}

/** The first address of a private IPv4 range, which is the API server's in a range for Services. */
function isFirstAddress(authority: string): boolean {
  const address = authority.endsWith(":443") ? authority.slice(0, -":443".length) : authority;
  return address.endsWith(".0.1") && PRIVATE_RANGES.some(start => address.startsWith(start));
}

const PRIVATE_RANGES = ["10.", "172.", "192."];
