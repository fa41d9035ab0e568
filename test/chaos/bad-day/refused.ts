import { setTimeout as sleep } from "node:timers/promises";
import type { Scene } from "../scenario";
import type { Finding } from "../suite";
import { resetBreaker, trippedBy } from "./breaker";
import { Outage } from "./outage";
import type { Story, World } from "./story";
import { isStalled, objectsOf, protectedWorkloads, reasonOf, restartsOf, untilAccepted } from "./workloads";

/** How long every request of the workloads is refused, in milliseconds. */
const REFUSED_MS = 120_000;

/** Evidence from logs counts as "still going on" for at most 90 s; in milliseconds. */
const AFTERWARDS_MS = 100_000;

const LOOK_MS = 2_000;

/** Makes the API server refuse the workloads, and ends that. */
interface Refusal {
  readonly fault: string;
  begin(world: World): Promise<void>;
  end(world: World): Promise<void>;
}

const nothing = (): Promise<void> => Promise.resolve();

/** One of several API servers has a wrong key: it refuses the workloads, but not the operator, which reaches another one. */
export const refusedByOne = refused("refused-by-one", {
  fault: "one of several API servers refuses",
  begin: nothing,
  end: nothing,
});

/** The only API server has a wrong signing key, so that it refuses the operator too. */
export const refusedByAll: Story = {
  ...refused("refused-by-all", {
    fault: "the API server has a wrong signing key, so that it refuses the operator and",
    begin: ({ lab }) => lab.restartApiServer({ newSigningKey: true }),
    async end({ lab, rig }) {
      await lab.restartApiServer({ previousSigningKey: true });
      // An operator that was refused for two minutes exits, and the kubelet starts it again.
      if (rig.operator.exitCode !== undefined) await rig.succeed();
    },
  }),
  isAlone: true,
};

function refused(name: string, refusal: Refusal): Story {
  return {
    name,
    async tell(world) {
      const { rig, dice, print, workloads } = world;
      const scene = await rig.scene(name);
      const outage = new Outage();
      scene.node.voices.set(`${name}-`, outage.voice);
      const names = dice.names(workloads, name);
      await protectedWorkloads(scene, names);
      await sleep(dice.whole(0, 10_000));
      print(`${refusal.fault} ${workloads} workloads for ${REFUSED_MS / 1000} s`);
      const begunMs = performance.now();
      outage.begin();
      await refusal.begin(world);
      const seen = await watch(scene, names, begunMs + REFUSED_MS);
      outage.end();
      await refusal.end(world);
      const after = await watch(scene, names, performance.now() + AFTERWARDS_MS);
      const tripped = await trippedBy(scene);
      await resetBreaker(scene);
      await untilAccepted(scene, names);
      await rig.clear([scene.namespace]);
      return finding(refusal, workloads, { during: seen, after, tripped });
    },
  };
}

interface Seen {
  readonly restarts: number;
  /** Most objects that were Stalled at once. */
  readonly stalled: number;
  /** Most objects that were not accepted at once. */
  readonly doubted: number;
}

/** Looks at the objects until a time. While the API server restarts, it shows nothing. */
async function watch(scene: Scene, names: readonly string[], untilMs: number): Promise<Seen> {
  let [restarts, stalled, doubted] = [0, 0, 0];
  while (performance.now() < untilMs) {
    const objects = await objectsOf(scene, names).catch(() => []);
    restarts = Math.max(restarts, restartsOf(objects).length);
    stalled = Math.max(stalled, objects.filter(isStalled).length);
    doubted = Math.max(doubted, objects.filter(one => reasonOf(one, "TokensAccepted") !== "Accepted").length);
    await sleep(Math.max(0, Math.min(LOOK_MS, untilMs - performance.now())));
  }
  return { restarts, stalled, doubted };
}

function finding(
  { fault }: Refusal,
  workloads: number,
  { during, after, tripped }: { during: Seen; after: Seen; tripped: string | undefined },
): Finding {
  const restarts = Math.max(during.restarts, after.restarts);
  const stalled = Math.max(during.stalled, after.stalled);
  const doubted = Math.max(during.doubted, after.doubted);
  const breaker = tripped === undefined ? "not tripped" : "tripped";
  return {
    fault: `${fault} ${workloads} workloads for ${REFUSED_MS / 1000} s`,
    times: workloads,
    promised: "no restart but a canary, and all accepted afterwards",
    seen: `${restarts} restarts; ${doubted} objects not accepted at once, ${stalled} of them Stalled; breaker ${breaker}`,
    failures: [
      ...(restarts > 1 ? [`${restarts} pods were restarted`] : []),
      ...(doubted < workloads ? [`only ${doubted} objects reported the 401s`] : []),
    ],
  };
}
