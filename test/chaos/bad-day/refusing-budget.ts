import { setTimeout as sleep } from "node:timers/promises";
import type { ControllerResilience } from "../../../src/api/controller-resilience";
import { objectPath, type Scene, until } from "../scenario";
import type { Story } from "./story";
import {
  isStalled,
  messageOf,
  objectsOf,
  protectedWorkloads,
  reasonOf,
  recreateServiceAccounts,
  restartsOf,
} from "./workloads";

const WORKLOADS = 5;

/** A workload may wait this long for its PodDisruptionBudget before it is Stalled, in milliseconds. */
const WAIT_MS = 3_600_000;

/** Much longer than each step takes on a busy machine, in milliseconds. */
const PATIENCE_MS = 300_000;

const A_SECOND_LATER_MS = 2_000;

/** What a person can do, in the words of the message. */
const WAY_OUT = /delete the pod by hand, or add a replica; if evictions are refused, check the PodDisruptionBudget/;

/** A PodDisruptionBudget never allows the restart of one of several workloads. */
export const refusingBudget: Story = {
  name: "refusing-budget",
  async tell({ rig, dice, print }) {
    const scene = await rig.scene("refusing-budget");
    const names = dice.names(WORKLOADS, "guarded");
    const guarded = dice.oneOf(names);
    const others = names.filter(name => name !== guarded);
    await protectedWorkloads(scene, names);
    await scene.admin.create(`/apis/policy/v1/namespaces/${scene.namespace}/poddisruptionbudgets`, {
      metadata: { name: guarded },
      spec: { minAvailable: 1, selector: { matchLabels: { app: guarded } } },
    });
    await sleep(A_SECOND_LATER_MS);
    await recreateServiceAccounts(scene, dice.shuffled(names));
    await until("the other workloads to be healed", () => areHealed(scene, others), PATIENCE_MS);
    await until("the refusal", async () => (await waitOf(scene, guarded)) !== undefined, PATIENCE_MS);
    print(`${others.length} workloads are healed, and ${guarded} waits`);
    await ageWait(scene, guarded);
    const stalled = async (): Promise<ControllerResilience | undefined> =>
      (await objectsOf(scene, [guarded])).find(isStalled);
    await until("the object to be Stalled", async () => (await stalled()) !== undefined, PATIENCE_MS);
    const object = (await stalled())!;
    const message = messageOf(object, "Stalled");
    return {
      fault: `a PodDisruptionBudget never allows the restart of one of ${WORKLOADS} workloads`,
      times: 1,
      promised: "the others are healed; this one is Stalled after an hour, with the way out",
      seen: `${others.length} healed; ${reasonOf(object, "Stalled")}: ${message}`,
      failures: [
        ...(WAY_OUT.test(message) ? [] : [`the message has no way out: ${message}`]),
        ...(restartsOf([object]).length > 0 ? ["the guarded pod was restarted"] : []),
      ],
    };
  },
};

async function areHealed(scene: Scene, names: readonly string[]): Promise<boolean> {
  const objects = await objectsOf(scene, names);
  const recovered = restartsOf(objects).filter(({ outcome }) => outcome === "Recovered");
  return recovered.length === names.length && objects.every(one => reasonOf(one, "TokensAccepted") === "Accepted");
}

async function waitOf(scene: Scene, name: string): Promise<string | undefined> {
  const [object] = await objectsOf(scene, [name]);
  return object?.status?.targets?.[0]?.waitStartTime;
}

/** Makes the wait look as long as a person would have to wait for the same. The operator may write status meanwhile. */
async function ageWait(scene: Scene, name: string): Promise<void> {
  const waitStartTime = new Date(Date.now() - WAIT_MS - 60_000).toISOString().replace(/\.\d+/, "");
  await until("the wait to be an hour old", async () => {
    const [object] = await objectsOf(scene, [name]);
    const targets = object?.status?.targets?.map(target => ({ ...target, waitStartTime }));
    const { resourceVersion } = object!.metadata;
    const change = { metadata: { resourceVersion }, status: { targets } };
    await scene.admin.patch(`${objectPath(scene, name)}/status`, change).catch(() => undefined);
    return (await waitOf(scene, name)) === waitStartTime;
  });
}
