// Topics of records in logs besides 401s. Pure.

/** Topic of records about a lost Lease. */
export const LEASE_LOST = "lease-lost";

/** Topic of records about requests that waited or were rejected because of their rate. */
export const THROTTLED = "throttled";

/** Topic of records about requests that the API server refused because of their rate. */
export const REFUSED = "refused";

/** A request that the API server answered 403: names that were checked, and no log text. */
export interface DeniedRequest {
  /** The ServiceAccount that made it. */
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
  readonly verb: string;
  /** With the subresource, such as `pods/eviction`. */
  readonly resource: string;
  /** Empty: the core group. */
  readonly group: string;
  /** Absent: in all namespaces, or of the cluster. */
  readonly namespace?: string;
}

/** Returns the topic of a denied request. */
export function topicOf({ serviceAccount, verb, resource, group, namespace }: DeniedRequest): string {
  return ["forbidden", serviceAccount.namespace, serviceAccount.name, verb, resource, group, namespace ?? "*"].join(
    " ",
  );
}

/** Returns the denied request of a topic; undefined if the topic is another. */
export function deniedOf(topic: string): DeniedRequest | undefined {
  const [what, accountNamespace = "", name = "", verb = "", resource = "", group = "", namespace = "*"] =
    topic.split(" ");
  if (what !== "forbidden") return undefined;
  const serviceAccount = { namespace: accountNamespace, name };
  return { serviceAccount, verb, resource, group, ...(namespace === "*" ? {} : { namespace }) };
}
