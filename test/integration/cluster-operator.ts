import { Api } from "../../src/cluster/http/api";
import { Connection } from "../../src/cluster/http/connection";
import { loadKubeConfigFile } from "../../src/cluster/testing/kubeconfig";
import { systemClock } from "../../src/cluster/system";
import { KubeConfig, type User } from "@kubernetes/client-node";
import { type Admin, options } from "../cluster/admin";
import { roleBinding } from "../cluster/objects";
import { suiteLab } from "./suite-lab";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";

/** A right to nothing, which shows that the others of its role hold. */
const NOTHING = { verb: "get", group: "example.com", resource: "nothing" };

/** An API client with the rights of a ServiceAccount that has these rules everywhere. */
export async function clientWith(admin: Admin, namespace: string, rules: readonly object[]): Promise<Connection> {
  const name = `operator-${Math.random().toString(36).slice(2, 8)}`;
  await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  const nothing = { verbs: [NOTHING.verb], apiGroups: [NOTHING.group], resources: [NOTHING.resource] };
  await admin.create(`${RBAC}/clusterroles`, { metadata: { name }, rules: [...rules, nothing] });
  const bound = roleBinding({ name }, { kind: "ClusterRole", name }, { namespace, name });
  await admin.create(`${RBAC}/clusterrolebindings`, bound);
  await admin.untilAllowed(`system:serviceaccount:${namespace}:${name}`, NOTHING);
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const { status } = await admin.create<{ status: { token: string } }>(path, { spec: { expirationSeconds: 3600 } });
  return connectionOf({ token: status.token });
}

/** The bounded client over that API client, which the adapters use. */
export function apiOver(connection: Connection): Api {
  return new Api(connection, systemClock, options);
}

/** A connection to the suite's API server with other credentials, or as another user, than its kubeconfig has. */
export function connectionOf(user: Partial<User>): Connection {
  const cluster = loadKubeConfigFile(suiteLab().kubeconfigPath).getCurrentCluster();
  if (cluster === null) throw new Error("the lab's kubeconfig has no cluster");
  const config = new KubeConfig();
  config.loadFromClusterAndUser(cluster, { name: "user", ...user });
  return new Connection(() => config, systemClock);
}
