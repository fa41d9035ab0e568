/**
 * Which addresses, ports and interface a lab gets. Inside the network namespace every lab looks the same;
 * only the /30 that joins it to the host, and the ports of a control plane on the loopback, must differ.
 */

/** Inside a lab's namespace: the address of the node, for pods and host processes. */
export const NODE_ADDRESS = "10.85.0.1";
export const POD_RANGE = "10.85.0.0/24";
export const SERVICE_RANGE = "10.96.0.0/16";
/** The first address of SERVICE_RANGE belongs to the API server. The bridge has this address, so no kube-proxy is needed. */
export const API_SERVICE_ADDRESS = "10.96.0.1";
/** Nothing listens at this address of the bridge, so a DNS look-up is refused at once instead of timing out. */
export const DNS_SERVICE_ADDRESS = "10.96.0.10";

const LABS_PER_PREFIX = 256;
/** 198.18.0.0/15 is reserved for tests (RFC 2544); used if the host routes all of 10.0.0.0/8 elsewhere. */
const JOINT_PREFIXES = ["10.86", "198.18"];
/** Below the range of ports that Linux uses for outgoing connections (32768 and up). */
const FIRST_PORT = 21_000;
const PORTS_PER_LAB = 10;

/** The two ends of the veth pair between host and lab. */
interface Joint {
  hostAddress: string;
  labAddress: string;
  prefixLength: 30;
}

/** Ports on the loopback, for a control plane without its own namespace. */
interface Ports {
  apiServer: number;
  etcdClient: number;
  etcdPeer: number;
  kwok: number;
}

export const LAB_LIMIT = LABS_PER_PREFIX * JOINT_PREFIXES.length;

/** The two ends of the veth pair of the lab with this index. */
export function jointOf(index: number): Joint {
  const network = `${JOINT_PREFIXES[Math.floor(index / LABS_PER_PREFIX)] ?? ""}.${index % LABS_PER_PREFIX}`;
  return { hostAddress: `${network}.1`, labAddress: `${network}.2`, prefixLength: 30 };
}

/** The ports of the lab with this index. */
export function portsOf(index: number): Ports {
  const first = FIRST_PORT + index * PORTS_PER_LAB;
  return { apiServer: first, etcdClient: first + 1, etcdPeer: first + 2, kwok: first + 3 };
}

/** The smallest index that no lab uses and that is usable on this host; throws if there is none. */
export async function freeIndex(
  held: ReadonlySet<number>,
  usable: (index: number) => Promise<boolean> | boolean,
): Promise<number> {
  for (let index = 0; index < LAB_LIMIT; index += 1) {
    if (!held.has(index) && (await usable(index))) return index;
  }
  throw new Error(
    `no free address or port for another lab: ${LAB_LIMIT} were tried, ${held.size} are held by labs; ` +
      "`npm run lab -- status` lists them, `npm run lab -- down --all` removes them",
  );
}

/** True if the joint's /30 has an address in common with one of these IPv4 ranges ("10.0.0.0/8", "10.1.2.3"). */
export function overlaps(joint: Joint, ranges: readonly string[]): boolean {
  const own = `${joint.labAddress}/${joint.prefixLength}`;
  return ranges.some(range => {
    const shorter = Math.min(lengthOf(own), lengthOf(range));
    return networkNumber(own, shorter) === networkNumber(range, shorter);
  });
}

/** The destinations in the output of `ip -json route show table all`; the default route is none. */
export function parseRoutes(json: string): string[] {
  const routes = JSON.parse(json === "" ? "[]" : json) as { dst?: string }[];
  return routes.map(route => route.dst ?? "").filter(dst => /^\d+\.\d+\.\d+\.\d+(\/\d+)?$/.test(dst));
}

function lengthOf(range: string): number {
  const length = range.split("/")[1];
  return length === undefined ? 32 : Number(length);
}

function networkNumber(range: string, length: number): number {
  const octets = (range.split("/")[0] ?? "").split(".").map(Number);
  const address = octets.reduce((number, octet) => number * 256 + octet, 0);
  return Math.floor(address / 2 ** (32 - length));
}
