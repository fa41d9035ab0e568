import { setTimeout as sleep } from "node:timers/promises";
import type { Scene } from "../scenario";
import type { Finding } from "../suite";
import { resetBreaker, trippedBy } from "./breaker";
import { Outage } from "./outage";
import type { Story, World } from "./story";
import { isStalled, objectsOf, protectedWorkloads, reasonOf, restartsOf, untilAccepted } from "./workloads";

/** How long every request of the workloads is refused, and how long they are watched afterwards, in milliseconds. */
const SPANS = {
  /** Evidence from logs counts as "still going on" for at most 90 s. */
  usual: { refusedMs: 120_000, afterwardsMs: 100_000 },
  /** 401s are persistent after 60 s. */
  short: { refusedMs: 70_000, afterwardsMs: 25_000 },
};

const LOOK_MS = 2_000;

/** Makes the API server refuse the workloads, and ends that. */
interface Refusal {
  readonly fault: string;
  /** The operator can report the 401s meanwhile. */
  readonly isSeen: boolean;
  begin(world: World): Promise<void>;
  end(world: World): Promise<void>;
}

const nothing = (): Promise<void> => Promise.resolve();

/** One of several API servers has a wrong key: it refuses the workloads, but not the operator, which reaches another one. */
export const refusedByOne = refused("refused-by-one", {
  fault: "one of several API servers refuses",
  isSeen: true,
  begin: nothing,
  end: nothing,
});

/** The only API server has a wrong signing key, so that it refuses the operator too. */
export const refusedByAll: Story = {
  ...refused("refused-by-all", {
    fault: "the API server has a wrong signing key, so that it refuses the operator and",
    isSeen: false,
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
      const { refusedMs, afterwardsMs } = SPANS[world.isShort ? "short" : "usual"];
      const scene = await rig.scene(name);
      const outage = new Outage();
      scene.node.voices.set(`${name}-`, outage.voice);
      const names = dice.names(workloads, name);
      await protectedWorkloads(scene, names);
      await sleep(dice.whole(0, 10_000));
      const fault = `${refusal.fault} ${workloads} workloads for ${refusedMs / 1000} s`;
      print(fault);
      const begunMs = performance.now();
      outage.begin();
      await refusal.begin(world);
      const during = await watch(scene, names, begunMs + refusedMs);
      outage.end();
      await refusal.end(world);
      const after = await watch(scene, names, performance.now() + afterwardsMs);
      const tripped = await trippedBy(scene);
      await resetBreaker(scene);
      await untilAccepted(scene, names);
      await rig.clear([scene.namespace]);
      const { promised, seen, failures } = judge({ during, after, tripped }, refusal.isSeen ? workloads : 0);
      return { fault, times: workloads, promised, seen, failures };
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

/** @param doubts objects that must have reported the 401s: without, the story shows nothing */
function judge(
  { during, after, tripped }: { during: Seen; after: Seen; tripped: string | undefined },
  doubts: number,
): Pick<Finding, "promised" | "seen" | "failures"> {
  const restarts = Math.max(during.restarts, after.restarts);
  const stalled = Math.max(during.stalled, after.stalled);
  const doubted = Math.max(during.doubted, after.doubted);
  const breaker = tripped === undefined ? "not tripped" : "tripped";
  return {
    promised: "at most two restarts, one after the other, and all accepted afterwards",
    seen: `${restarts} restarts; at once ${doubted} objects not accepted and ${stalled} Stalled; breaker ${breaker}`,
    failures: [
      ...(restarts > 2 ? [`${restarts} pods were restarted`] : []),
      ...(doubted < doubts ? [`only ${doubted} objects reported the 401s`] : []),
    ],
  };
}
