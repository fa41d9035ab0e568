import { inject } from "vitest";
import { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import { Lab } from "../lab";
import { OperatorProcess } from "../operator/process";

/** The lab that the suite has brought up. */
export function suiteLab(): Lab {
  const lab = Lab.find(inject("labName"));
  if (lab === undefined) throw new Error(`the lab "${inject("labName")}" is not up`);
  return lab;
}

/** kubectl on it, as administrator: what tests do, never what the operator does. */
export function suiteClient(): ClusterClient {
  return ClusterClient.of(suiteLab());
}

/** Who holds the operator's Lease. */
export function leaseHolder(client: ClusterClient): Promise<string> {
  const lease = ["lease", "controller-resilience", "-n", OPERATOR.namespace];
  return client.output(["get", ...lease, "-o", "jsonpath={.spec.holderIdentity}"]);
}

/** The operator as a host process, with the rights of its own ServiceAccount; ready when this returns. */
export async function startOperator(...args: string[]): Promise<OperatorProcess> {
  const kubeconfig = await suiteLab().serviceAccountKubeconfig(OPERATOR.namespace, OPERATOR.serviceAccount);
  const operator = OperatorProcess.start({ kubeconfig, args });
  await operator.ready();
  return operator;
}
