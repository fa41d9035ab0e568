import { inject } from "vitest";
import { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import { workerLab } from "../cluster/worker-labs";
import { smallController, type SmallControllerOptions } from "../controllers/small-controller";
import type { Lab } from "../lab";
import { OperatorProcess } from "../operator/process";

/** The lab of this worker. No other test file uses it at the same time. */
export function suiteLab(): Lab {
  return workerLab(inject("e2eLabs"));
}

/** kubectl on the lab, as administrator: for what tests do, never for what the operator does. */
export function suiteClient(): ClusterClient {
  return ClusterClient.of(suiteLab());
}

/** All objects of a small controller with the Node.js client. */
export function nodeController(namespace: string, name: string, more: Partial<SmallControllerOptions> = {}): object[] {
  const program = { image: inject("images").node, command: ["node", "/app/controller.js"] };
  return smallController({ namespace, name, ...program, ...more });
}

/** Returns the holder of the operator's Lease. */
export function leaseHolder(client: ClusterClient): Promise<string> {
  const lease = ["lease", "controller-resilience", "-n", OPERATOR.namespace];
  return client.output(["get", ...lease, "-o", "jsonpath={.spec.holderIdentity}"]);
}

/** Starts the operator as a host process with the rights of its own ServiceAccount, and waits until it is ready. */
export async function startOperator(...args: string[]): Promise<OperatorProcess> {
  const kubeconfig = await suiteLab().serviceAccountKubeconfig(OPERATOR.namespace, OPERATOR.serviceAccount);
  const operator = OperatorProcess.start({ kubeconfig, args, bundle: inject("operatorBundle") });
  await operator.ready();
  return operator;
}
