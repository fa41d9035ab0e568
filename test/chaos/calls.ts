/** What a request is to whoever ends the operator at its writes. */
export type CallKind =
  | "write"
  /** Its Lease, which says that it lives. */
  | "lease"
  /** What it tells people. */
  | "event"
  /** Asks something by POST, and writes nothing. */
  | "review"
  /** The store of Pepr, the framework underneath. */
  | "framework"
  | "read";

/** One request, as its method and path describe it. */
export interface Call {
  readonly kind: CallKind;
  readonly method: string;
  /** Plural, and the subresource after a slash: `controllerresiliences/status`. */
  readonly resource: string;
  /** Undefined for what is cluster-scoped. */
  readonly namespace?: string;
}

const READS: readonly string[] = ["GET", "HEAD", "OPTIONS"];

const KINDS: Readonly<Record<string, CallKind>> = {
  "coordination.k8s.io": "lease",
  "events.k8s.io": "event",
  "authentication.k8s.io": "review",
  "authorization.k8s.io": "review",
  "pepr.dev": "framework",
};

/** Reads a request's method and path. Pure and total. */
export function callOf(method: string, url: string): Call {
  const [root, ...rest] = url.replace(/\?.*$/s, "").split("/").filter(Boolean);
  const [group, place] = root === "apis" ? [rest[0] ?? "", rest.slice(2)] : ["", rest.slice(1)];
  const [namespace, [plural = url, , subresource]] =
    place[0] === "namespaces" && place.length > 2 ? [place[1], place.slice(2)] : [undefined, place];
  return {
    kind: READS.includes(method) ? "read" : (KINDS[group] ?? "write"),
    method,
    resource: subresource === undefined ? plural : `${plural}/${subresource}`,
    ...(namespace === undefined ? {} : { namespace }),
  };
}

/** Whether it writes what the operator knows and says of an object, and changes nothing else. */
export function isStatus({ resource }: Call): boolean {
  return resource === "controllerresiliences/status";
}

/** A call for people: `POST pods/eviction`. */
export function describeCall({ method, resource }: Call): string {
  return `${method} ${resource}`;
}
