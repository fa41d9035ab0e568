import { setTimeout as sleep } from "node:timers/promises";
import { processIn } from "../../e2e/pod-process";
import { type Act, NAME } from "./stall-programs";

// What is done to a program, whatever it handles.

export const nothing: Act = () => Promise.resolve();

export const pause =
  (ms: number): Act =>
  () =>
    sleep(ms);

export const each =
  (...acts: readonly Act[]): Act =>
  async hands => {
    for (const act of acts) await act(hands);
  };

/** Does it again and again, until shortly before the end. */
export const again =
  (everyMs: number, act: Act): Act =>
  async hands => {
    await act(hands);
    while (performance.now() < hands.endMs - everyMs) {
      await sleep(everyMs);
      // The API server may be away.
      await act(hands).catch(() => undefined);
    }
  };

export const kubectl =
  (...args: readonly string[]): Act =>
  ({ client, namespace }) =>
    client.output([...args, `--namespace=${namespace}`]);

const WORKLOAD = `deployment/${NAME}`;
export const roll = kubectl("rollout", "restart", WORKLOAD);

/** Scales to zero, does something meanwhile, and scales to one. */
export const whileAtZero = (act: Act): Act =>
  each(kubectl("scale", WORKLOAD, "--replicas=0"), act, kubectl("scale", WORKLOAD, "--replicas=1"));

/** Sends a signal to the process of this name in its pod. */
export const signal =
  (program: string, name: NodeJS.Signals): Act =>
  async ({ client, namespace }) => {
    const [pod] = await client.pods(namespace, NAME);
    process.kill(processIn(pod!.metadata.name, program), name);
  };

export const recreateAccount: Act = ({ client, namespace }) => client.recreateServiceAccount(namespace, NAME);

export const deleteBinding =
  (name: string): Act =>
  ({ client, namespace }) =>
    client.deleteBinding("RoleBinding", name, namespace);

/** Deletes the pod that holds the Lease. */
export const handOver: Act = async hands => {
  const [pod = ""] = (await leaseField(hands, "holderIdentity")).split("_", 1);
  await kubectl("delete", "pod", pod, "--wait=false", "--ignore-not-found")(hands);
};

/** A field of the program's Lease. */
export function leaseField({ client, namespace }: Parameters<Act>[0], field: string): Promise<string> {
  return client.output(["get", "lease", NAME, `--namespace=${namespace}`, "-o", `jsonpath={.spec.${field}}`]);
}
