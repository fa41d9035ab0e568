/** One request, as described by its method and path. */
export interface Call {
  /** False also for a POST that writes nothing, and for Leases, Events and the store of Pepr, the framework of the operator. */
  readonly isWrite: boolean;
  readonly method: string;
  /** Plural, with the subresource after a slash: `controllerresiliences/status`. */
  readonly resource: string;
  /** Undefined for cluster-scoped objects. */
  readonly namespace?: string;
}

const READS: readonly string[] = ["GET", "HEAD", "OPTIONS"];

/** API groups of which no write counts. */
const OTHERS = ["coordination.k8s.io", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "pepr.dev"];

/** Parses a request's method and path. Pure and total. */
export function callOf(method: string, url: string): Call {
  const [root, ...rest] = url.replace(/\?.*$/s, "").split("/").filter(Boolean);
  const [group, place] = root === "apis" ? [rest[0] ?? "", rest.slice(2)] : ["", rest.slice(1)];
  const [namespace, [plural = url, , subresource]] =
    place[0] === "namespaces" && place.length > 2 ? [place[1], place.slice(2)] : [undefined, place];
  return {
    isWrite: !READS.includes(method) && !OTHERS.includes(group),
    method,
    resource: subresource === undefined ? plural : `${plural}/${subresource}`,
    ...(namespace === undefined ? {} : { namespace }),
  };
}

/** Formats a call: `POST pods/eviction`. */
export function describeCall({ method, resource }: Call): string {
  return `${method} ${resource}`;
}
