/** Kinds of requests, as the suites tell them apart. */
export type CallKind =
  | "write"
  | "lease"
  | "event"
  /** A POST that writes nothing, such as a review. */
  | "review"
  /** The store of Pepr, the framework of the operator. */
  | "framework"
  | "read";

/** One request, as described by its method and path. */
export interface Call {
  readonly kind: CallKind;
  readonly method: string;
  /** Plural, with the subresource after a slash: `controllerresiliences/status`. */
  readonly resource: string;
  /** Undefined for cluster-scoped objects. */
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

/** Parses a request's method and path. Pure and total. */
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

/** Formats a call: `POST pods/eviction`. */
export function describeCall({ method, resource }: Call): string {
  return `${method} ${resource}`;
}
