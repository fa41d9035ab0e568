import type { Binding } from "../cluster/client";
import { EXPIRY } from "./rules";

const GROUP = "rbac.authorization.k8s.io";

/** A binding of one ServiceAccount to a role. */
export interface BindingOptions {
  readonly name: string;
  /** Without it, it is a ClusterRoleBinding. */
  readonly namespace?: string | undefined;
  readonly role: { readonly kind: "Role" | "ClusterRole"; readonly name: string };
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** As it is applied. */
export function binding(options: BindingOptions): object {
  const { name, namespace, role, serviceAccount, labels = {}, annotations = {} } = options;
  return {
    apiVersion: `${GROUP}/v1`,
    kind: kindOf(options),
    metadata: { name, labels, annotations, ...(namespace === undefined ? {} : { namespace }) },
    roleRef: { apiGroup: GROUP, ...role },
    subjects: [{ kind: "ServiceAccount", ...serviceAccount }],
  };
}

/** Its kind, which follows from where it is. */
export function kindOf({ namespace }: { readonly namespace?: string | undefined }): Binding["kind"] {
  return namespace === undefined ? "ClusterRoleBinding" : "RoleBinding";
}

/** A way to say that something ends soon. */
export interface Life {
  /** Fit for the name of an object. */
  readonly name: string;
  readonly key: string;
  /** Whether it is counted from the creation of the binding, so that the same words say it again of a new one. */
  readonly fromCreation: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A life of so many seconds, from now or from creation, in every convention that can say so short a time. */
export function lives(seconds: number, nowMs = Date.now()): Life[] {
  const moment = new Date(nowMs + seconds * 1000).toISOString().replace(/\.\d+/, "");
  const annotation = (name: string, key: string, value: string, fromCreation: boolean): Life => ({
    name,
    key,
    fromCreation,
    annotations: { [key]: value },
  });
  const label = (name: string, value: string, fromCreation: boolean): Life => ({
    name,
    key: EXPIRY.kyverno,
    fromCreation,
    labels: { [EXPIRY.kyverno]: value },
  });
  return [
    annotation("janitor-ttl", EXPIRY.janitorTtl, `${seconds}s`, true),
    annotation("janitor-expires", EXPIRY.janitorExpires, moment, false),
    label("kyverno-duration", `${seconds}s`, true),
    label("kyverno-moment", moment.replaceAll(":", ""), false),
    annotation("ttl-controller", EXPIRY.ttlController, `${seconds}s`, true),
    annotation("own-expires-at", EXPIRY.ownExpiresAt, moment, false),
    annotation("own-seconds", EXPIRY.ownSeconds, String(seconds), true),
  ];
}
