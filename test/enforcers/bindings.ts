import { RENEW_ANNOTATION } from "../../src/api/names";
import { roleBinding } from "../cluster/objects";
import { EXPIRY } from "./rules";

/** A binding of one ServiceAccount to a role. */
interface BindingOptions {
  readonly name: string;
  /** Without a namespace, the binding is a ClusterRoleBinding. */
  readonly namespace?: string | undefined;
  readonly role: { readonly kind: "Role" | "ClusterRole"; readonly name: string };
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** Whether its renewal is requested by the annotation; absent: it is. */
  readonly renew?: boolean;
}

/** A binding as it is applied. */
export function binding(options: BindingOptions): object {
  const { name, namespace, role, serviceAccount, labels = {}, annotations = {}, renew = true } = options;
  const requested = renew ? { [RENEW_ANNOTATION]: "true" } : {};
  const metadata = { name, labels, annotations: { ...requested, ...annotations } };
  return roleBinding(namespace === undefined ? metadata : { ...metadata, namespace }, role, serviceAccount);
}

/** A way to declare an expiry. */
export interface Life {
  /** Valid as an object name. */
  readonly name: string;
  readonly key: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A life of this many seconds, from now or from creation, in every convention that supports it. */
export function lives(seconds: number, nowMs = Date.now()): Life[] {
  const moment = new Date(nowMs + seconds * 1000).toISOString().replace(/\.\d+/, "");
  const annotation = (name: string, key: string, value: string): Life => ({ name, key, annotations: { [key]: value } });
  const label = (name: string, value: string): Life => ({
    name,
    key: EXPIRY.kyverno,
    labels: { [EXPIRY.kyverno]: value },
  });
  return [
    annotation("janitor-ttl", EXPIRY.janitorTtl, `${seconds}s`),
    annotation("janitor-expires", EXPIRY.janitorExpires, moment),
    label("kyverno-duration", `${seconds}s`),
    label("kyverno-moment", moment.replaceAll(":", "")),
    annotation("own-expires-at", EXPIRY.ownExpiresAt, moment),
    annotation("own-seconds", EXPIRY.ownSeconds, String(seconds)),
  ];
}
