import { setTimeout as sleep } from "node:timers/promises";
import { OWNER_UID_LABEL } from "../../../src/api/names";
import { GoneError } from "../../../src/core/errors";
import { describeCall } from "../calls";
import type { Rig } from "../rig";
import { createWorkload, protect, readObject, type Scene, until } from "../scenario";
import type { Finding } from "../suite";

const FLOW_SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";

/** Timestamps of the API have whole seconds, and the pod must be older than its ServiceAccount; in milliseconds. */
const A_SECOND_LATER_MS = 2_000;

/** Allowed warnings and errors per namespace: a few writes come too late, but none is retried forever. */
const MOST_COMPLAINTS = 20;

/** Longer than the measurement takes on a busy machine; in milliseconds. */
const PATIENCE_MS = 240_000;

/** Namespaces are deleted; in one of them a pod is being replaced and flows are being isolated. */
export async function deleted(rig: Rig, others: readonly Scene[], print: (line: string) => void): Promise<Finding> {
  const scene = await rig.scene("deleted");
  const uid = await begin(scene);
  const complaintsBefore = complaints(rig).length;
  const all = [scene, ...others];
  await Promise.all(all.map(({ admin, namespace }) => admin.delete(`/api/v1/namespaces/${namespace}`)));
  print(`${all.length} namespaces are being deleted, one of them during two remedies`);
  await until(
    "the namespaces to be deleted",
    async () => (await Promise.all(all.map(isGone))).every(Boolean),
    PATIENCE_MS,
  );
  const left = (await flowSchemas(scene, uid)).length;
  const complained = complaints(rig).slice(complaintsBefore);
  void rig.proxy.watch({ namespace: scene.namespace, kill: rig.kill });
  await sleep(A_SECOND_LATER_MS);
  const { writes } = rig.proxy;
  print(`all deleted; ${left} FlowSchemas left, ${complained.length} warnings and errors`);
  const most = MOST_COMPLAINTS * all.length;
  return {
    fault: `${all.length} namespaces deleted, one of them during an eviction and an isolation`,
    times: all.length,
    promised: `all are deleted, no FlowSchema is left, at most ${most} warnings and errors, no write afterwards`,
    seen: `all deleted, ${left} FlowSchemas left, ${complained.length} warnings and errors, ${writes.length} writes afterwards`,
    failures: [
      ...(left > 0 ? [`${left} FlowSchemas left`] : []),
      ...(complained.length > most
        ? [`${complained.length} warnings and errors, such as ${complained.at(-1) ?? ""}`]
        : []),
      ...writes.map(write => `after the namespace was deleted: ${describeCall(write)}`),
    ],
  };
}

/** Returns the uid of the object once both remedies have begun. */
async function begin(scene: Scene): Promise<string> {
  const { admin, namespace, node } = scene;
  await createWorkload(scene, "Deployment", 1);
  await sleep(A_SECOND_LATER_MS);
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await admin.delete(`${account}/web`);
  await admin.create(account, { metadata: { name: "web" } });
  await node.reject(namespace);
  await protect(scene, "Deployment", { tokenRestart: {}, flowIsolation: {} });
  let uid = "";
  await until("both remedies to begin", async () => {
    const object = await readObject(scene);
    uid = object?.metadata.uid ?? "";
    return (object?.status?.restarts?.length ?? 0) > 0 && (await flowSchemas(scene, uid)).length > 0;
  });
  return uid;
}

async function flowSchemas({ admin }: Scene, uid: string): Promise<readonly unknown[]> {
  const query = `labelSelector=${encodeURIComponent(`${OWNER_UID_LABEL}=${uid}`)}`;
  return (await admin.get<{ items: unknown[] }>(`${FLOW_SCHEMAS}?${query}`)).items;
}

async function isGone({ admin, namespace }: Scene): Promise<boolean> {
  try {
    await admin.get(`/api/v1/namespaces/${namespace}`);
    return false;
  } catch (error) {
    return error instanceof GoneError;
  }
}

function complaints({ operator }: Rig): string[] {
  return operator.log.filter(({ level }) => level === "warn" || level === "error").map(line => JSON.stringify(line));
}
