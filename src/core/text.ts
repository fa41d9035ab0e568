import type { ControllerResilience } from "../api/controller-resilience";

/** Returns an amount with its noun, such as `1 pod` or `3 pods`. */
export function count(amount: number, noun: string): string {
  return `${String(amount)} ${noun}${amount === 1 ? "" : "s"}`;
}

/** Returns the first names of a list and how many are left, such as `a, b and 3 more`; all names if they are not more than `most`. */
export function firstOf(names: readonly string[], most: number): string {
  const left = names.length - most;
  return `${names.slice(0, most).join(", ")}${left > 0 ? ` and ${String(left)} more` : ""}`;
}

/**
 * Characters that a terminal may obey, and those that reorder, hide or break text: controls, formats such as U+202E, and separators of
 * lines. An author of Events or RoleBindings can write texts and names that contain them.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** Returns text on one line, with a space for characters that a terminal may obey. */
export function oneLine(text: string): string {
  return text.replaceAll(UNSAFE, " ");
}

const ELLIPSIS = "…";

/** Puts a text on one line as {@link oneLine}, and cuts it to so many bytes of UTF-8, between characters, with an ellipsis at the end. */
export function cutText(text: string, mostBytes: number): string {
  const line = oneLine(text);
  const bytes = Buffer.from(line, "utf8");
  if (bytes.length <= mostBytes) return line;
  let end = mostBytes - Buffer.byteLength(ELLIPSIS);
  // Bytes 10xxxxxx continue a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString("utf8") + ELLIPSIS;
}

/** Returns a word for a shell. Names of bindings and of contexts may hold any character. */
export function shellWord(word: string): string {
  return /^\w[\w.:-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Returns the key of an object: `namespace/name`. */
export function keyOf({ metadata }: Pick<ControllerResilience, "metadata">): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Splits a key into namespace and name, the inverse of {@link keyOf}. */
export function splitKey(key: string): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, Math.max(0, slash)), name: key.slice(slash + 1) };
}

/** Returns a workload in specs, status and messages, such as `Deployment/web`. */
export function workloadId({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind}/${name}`;
}

/** The namespace of the control plane, and of what each distribution adds to it. */
export const SYSTEM_NAMESPACE = "kube-system";

/** Admission uses any volume whose name begins so as its own, for the default token (kubernetes/kubernetes plugin/pkg/admission/serviceaccount). */
export const ADMISSION_PREFIX = "kube-api-access-";

/** Beginning of the user names of all ServiceAccounts (kubernetes/kubernetes pkg/serviceaccount/util.go). */
export const SERVICE_ACCOUNT_USERS = "system:serviceaccount:";

/** Returns the user name of a ServiceAccount's requests. */
export function serviceAccountUser(namespace: string, name: string): string {
  return `${SERVICE_ACCOUNT_USERS}${namespace}:${name}`;
}
