/** Beginning of the user names of all ServiceAccounts (kubernetes/kubernetes pkg/serviceaccount/util.go). */
export const SERVICE_ACCOUNT_USERS = "system:serviceaccount:";

/** Returns the user name of a ServiceAccount's requests. */
export function serviceAccountUser(namespace: string, name: string): string {
  return `${SERVICE_ACCOUNT_USERS}${namespace}:${name}`;
}
