import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import type { ClusterClient } from "../cluster/client";
import { kubeScheduler } from "../controllers/kube-scheduler";
import { startOperatorFor, suiteClient } from "../e2e/operator";
import { processIn } from "../e2e/pod-process";
import type { OperatorProcess } from "../operator/process";

// Evidence `Requests` needs a program that made requests in every minute of an hour. This takes too long for every run.

const NAMESPACE = "silent-requests";
const [HANGS, HEALTHY] = ["hangs", "healthy"];
const FOR_MS = 120_000;
/** The hour, and some minutes for the first counts. */
const LEARN_MS = 3_600_000 + 300_000;
/** Until the counters show it: they are read every 30 s, and an API server may be read a pass later. */
const FOUND_WITHIN_MS = FOR_MS + 180_000;

/** Longer than the test: the lab's tokens last an hour. */
const TOKEN_DURATION = "3h";

let client: ClusterClient;
let operator: OperatorProcess;
let hung: number | undefined;
let looking: NodeJS.Timeout;
const accused = new Set<string>();

beforeAll(async () => {
  client = suiteClient();
  await client.createNamespace(NAMESPACE);
  operator = await startOperatorFor(TOKEN_DURATION);
});

afterAll(async () => {
  clearInterval(looking);
  if (hung !== undefined) process.kill(hung, "SIGCONT");
  await operator.stop();
  await client.deleteNamespace(NAMESPACE);
});

it(
  "a program that hangs is found by its requests alone, and one that goes on making them is never accused",
  async () => {
    for (const name of [HANGS, HEALTHY]) {
      await client.apply(kubeScheduler({ namespace: NAMESPACE, name, image: inject("images").scheduler }));
      await client.readyPods(NAMESPACE, name);
      const stallDetection = { evidence: ["Requests"], for: `${FOR_MS / 1_000}s` };
      const targets = [{ kind: "Deployment", name }];
      await client.protect(NAMESPACE, name, { targets, flowIsolation: {}, stallDetection });
      await client.untilCondition({ namespace: NAMESPACE, name, type: "ControllersActive" }, ["Active"]);
    }
    looking = setInterval(() => void look().catch(() => undefined), 5_000);
    await sleep(LEARN_MS);
    expect([...accused]).toEqual([]);

    const [pod] = await client.readyPods(NAMESPACE, HANGS);
    hung = processIn(pod!.metadata.name, "kube-scheduler");
    process.kill(hung, "SIGSTOP");
    const stoppedMs = performance.now();
    const where = { namespace: NAMESPACE, name: HANGS, type: "ControllersActive" };
    const { message } = await client.untilCondition(where, ["RequestsStopped"], FOUND_WITHIN_MS);
    const seconds = Math.round((performance.now() - stoppedMs) / 1_000);
    console.log(`found ${seconds} s after it hung, with "for: ${FOR_MS / 1_000}s": ${message}`);
    expect(seconds).toBeGreaterThanOrEqual(FOR_MS / 1_000 - 60);

    process.kill(hung, "SIGCONT");
    hung = undefined;
    await client.untilCondition(where, ["Active"], FOUND_WITHIN_MS);
    expect([...accused]).toEqual([HANGS]);
  },
  LEARN_MS + 3 * FOUND_WITHIN_MS,
);

/** Remembers which objects were ever reported as not active. */
async function look(): Promise<void> {
  for (const name of [HANGS, HEALTHY]) {
    const condition = await client.condition(NAMESPACE, name, "ControllersActive");
    if (condition?.status === "False") accused.add(name);
  }
}
