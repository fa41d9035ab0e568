import { setTimeout as sleep } from "node:timers/promises";
import type { ControllerResilience, RestartStatus } from "../../../src/api/controller-resilience";
import { describeCall } from "../calls";
import { protect, type Scene } from "../scenario";
import type { Finding } from "../suite";
import { resetBreaker, trippedBy } from "./breaker";
import type { Story } from "./story";
import {
  createDaemonSet,
  isStalled,
  objectsOf,
  podsOf,
  protectedWorkloads,
  reasonOf,
  restartsOf,
  untilAccepted,
} from "./workloads";

/** Time between two restarts in the suite, in seconds: the default of 10 s takes 500 s for 50 pods. */
export const INTERVAL_S = 2;

/** A restart permit may be a little older than the request that the proxy sees; in milliseconds. */
const TOLERANCE_MS = 500;

const AGENT = "agent";
const NODES = 20;

/** The published keys are read every 40 s. A token is proven to be older than a key only if a reading without the key is younger; in milliseconds. */
const READING_MS = 50_000;

/** The pods of the DaemonSet follow each other, and each success shows after 30 s; on a busy machine. In milliseconds. */
const PATIENCE_MS = 1_500_000;
const LOOK_MS = 2_000;

/** The signing key of ServiceAccount tokens is replaced, so that every token of the cluster is invalid at once. */
export const rotation: Story = {
  name: "rotation",
  isAlone: true,
  async tell({ lab, rig, dice, print, workloads }) {
    const scene = await rig.scene("rotation");
    const names = dice.names(workloads, "rotated");
    const all = dice.shuffled([...names, AGENT]);
    await scene.node.addNodes(NODES, "rotation");
    await createDaemonSet(scene, { name: AGENT, pool: "rotation", pods: NODES });
    await protect(scene, "DaemonSet", { tokenRestart: {} }, AGENT);
    await protectedWorkloads(scene, names);
    await untilAccepted(scene, all);
    await sleep(READING_MS + dice.whole(0, 10_000));
    const before = await podsOf(scene);
    const evictions: number[] = [];
    rig.proxy.interceptor = {
      before: call => {
        if (describeCall(call) === "POST pods/eviction") evictions.push(performance.now());
        return Promise.resolve(undefined);
      },
    };
    const rotatedMs = performance.now();
    await lab.restartApiServer({ newSigningKey: true });
    await scene.node.reject(scene.namespace);
    await rig.renewToken(lab);
    print(`the key was replaced under ${workloads} Deployments and a DaemonSet on ${NODES} nodes`);
    const seen = await watch(scene, all, before.length, print);
    rig.proxy.interceptor = {};
    const left = await leftOf(scene, before);
    const tripped = await trippedBy(scene);
    await resetBreaker(scene);
    await rig.clear([scene.namespace]);
    const seconds = (ms: number | undefined): string => (((ms ?? NaN) - rotatedMs) / 1000).toFixed(0);
    return {
      ...describeFinding({ ...seen, evictions, left, tripped, pods: before.length }),
      fault: `the signing key is rotated under ${workloads} Deployments and a DaemonSet on ${NODES} nodes`,
      times: before.length,
      seen: `${before.length - left} of ${before.length} pods replaced, from ${seconds(evictions[0])} to ${seconds(evictions.at(-1))} s after the rotation; all recovered after ${seconds(seen.endMs)} s; ${causes(seen.restarts)}; least time between two: ${gap(evictions)} s`,
    };
  },
};

interface Seen {
  readonly restarts: readonly RestartStatus[];
  /** Reasons of objects that were Stalled at any time. */
  readonly stalled: ReadonlySet<string>;
  /** Reasons of objects that are not accepted at the end. */
  readonly unhealed: readonly string[];
  readonly endMs: number;
}

/** Looks until every token is accepted after that many restarts. */
async function watch(
  scene: Scene,
  names: readonly string[],
  pods: number,
  print: (line: string) => void,
): Promise<Seen> {
  const startedMs = performance.now();
  const stalled = new Set<string>();
  let [objects, told]: [ControllerResilience[], number] = [[], 0];
  while (performance.now() - startedMs < PATIENCE_MS) {
    objects = await objectsOf(scene, names);
    for (const one of objects.filter(isStalled)) stalled.add(reasonOf(one, "TokensAccepted"));
    const recovered = restartsOf(objects).filter(({ outcome }) => outcome === "Recovered").length;
    if (recovered >= told + 10) print(`${(told = recovered)} of ${pods} pods recovered`);
    if (recovered >= pods && objects.every(isAccepted)) break;
    await sleep(LOOK_MS);
  }
  const unhealed = objects
    .filter(one => !isAccepted(one))
    .map(one => `${one.metadata.name} is ${reasonOf(one, "TokensAccepted")}`);
  return { restarts: restartsOf(objects), stalled, unhealed, endMs: performance.now() };
}

const isAccepted = (object: ControllerResilience): boolean => reasonOf(object, "TokensAccepted") === "Accepted";

/** Number of those pods that were not replaced. */
async function leftOf(
  scene: Scene,
  before: readonly { readonly metadata: { readonly uid: string } }[],
): Promise<number> {
  const uids = new Set((await podsOf(scene)).map(({ metadata }) => metadata.uid));
  return before.filter(({ metadata }) => uids.has(metadata.uid)).length;
}

function describeFinding(
  result: Seen & { evictions: readonly number[]; left: number; tripped: string | undefined; pods: number },
): Pick<Finding, "promised" | "failures"> {
  const { restarts, stalled, unhealed, evictions, left, tripped, pods } = result;
  const unproven = restarts.filter(({ cause }) => cause !== "SigningKeyRotated").length;
  return {
    promised: `all replaced once and recovered, none given up, cause SigningKeyRotated but for one restart without proof, breaker not tripped, ${INTERVAL_S} s between restarts`,
    failures: [
      ...unhealed,
      ...(left > 0 ? [`${left} pods were not replaced`] : []),
      ...(restarts.length === pods ? [] : [`${restarts.length} restarts of ${pods} pods`]),
      ...(unproven > 1 ? [`the causes are ${causes(restarts)}`] : []),
      ...(stalled.size > 0 ? [`objects were Stalled: ${[...stalled].join(", ")}`] : []),
      ...(tripped === undefined ? [] : [`the restart breaker is tripped: ${tripped}`]),
      ...(Number(gap(evictions)) * 1000 < INTERVAL_S * 1000 - TOLERANCE_MS
        ? [`restarts ${gap(evictions)} s apart`]
        : []),
    ],
  };
}

/** Least time between two, in seconds. */
function gap(times: readonly number[]): string {
  return (Math.min(...times.slice(1).map((ms, i) => ms - (times[i] ?? 0))) / 1000).toFixed(1);
}

function causes(restarts: readonly RestartStatus[]): string {
  const counts = new Map<string, number>();
  for (const { cause } of restarts) counts.set(cause, (counts.get(cause) ?? 0) + 1);
  return [...counts].map(([cause, count]) => `${cause} ${count}`).join(", ");
}
