import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { RENEWALS_KEPT } from "../../src/core/leases";
import { CASES } from "../bench/zoo/stall-cases";
import { NAME, PROGRESS_ROLE, widgetKind } from "../bench/zoo/stall-programs";
import type { ClusterClient, OperatorEvent, Pod } from "../cluster/client";
import { managerImage } from "../controllers/images";
import { kubeScheduler } from "../controllers/kube-scheduler";
import type { OperatorProcess } from "../operator/process";
import { nodeController, startOperator, suiteClient, suiteLab } from "./operator";
import { processIn } from "./pod-process";

// Real controllers that stall in different ways, all at once, beside others that don't. Nothing in their logs says that the hung one hangs.

const NAMESPACE = "stalls";
const FOR_MS = 60_000;

/** The operator lists the Leases of two namespaces in turn. After the first time it sees each Lease renewed, which it must see four times. */
const LISTS = 2 * (1 + RENEWALS_KEPT);

/** A process is suspended for this long: shorter than `for`, and long enough to lose its Lease. */
const PAUSE_MS = 20_000;

const schedulers = ["hung", "paused", "dead", "unbound", "healthy"];

const denied = ["denied-node", "denied-python"];
const all = [...schedulers, ...denied];

/** A manager whose workers all block, from `npm run bench -- zoo`, which also heals it: that takes a quarter of an hour. */
const BLOCKED = "blocked-blind";
const blocked = CASES[BLOCKED]!;
const before = new Map<string, Pod>();

let client: ClusterClient;
let operator: OperatorProcess;
let beganMs: number;

function workloads(): object[] {
  const { scheduler: image, python } = inject("images");
  return [
    ...schedulers.flatMap(name => kubeScheduler({ namespace: NAMESPACE, name, image })),
    ...nodeController(NAMESPACE, "denied-node"),
    ...nodeController(NAMESPACE, "denied-python", { image: python, command: ["python3", "-u", "/app/controller.py"] }),
  ];
}

beforeAll(async () => {
  client = suiteClient();
  operator = await startOperator();
  await client.createNamespace(NAMESPACE);
  await client.apply(workloads());
  await installBlocked();
  for (const name of all) {
    const [pod] = await client.readyPods(NAMESPACE, name);
    before.set(name, pod!);
    const onStall = ["hung", "unbound"].includes(name) ? "Restart" : "Report";
    await client.protect(NAMESPACE, name, {
      targets: [{ kind: "Deployment", name }],
      stallDetection: { for: `${FOR_MS / 1_000}s`, onStall },
    });
  }
});

/** A manager, its kind, and the right to read that. */
async function installBlocked(): Promise<void> {
  const { reference, tar } = await managerImage();
  await suiteLab().loadImage(tar);
  await client.createNamespace(BLOCKED);
  await client.apply([PROGRESS_ROLE, widgetKind(BLOCKED)]);
  await client.untilServed([`crd/widgets.${BLOCKED}.example.com`]);
  await client.apply(blocked.install(BLOCKED, reference));
  await client.readyPods(BLOCKED, NAME);
  await blocked.seed?.({ client, namespace: BLOCKED, endMs: Infinity });
  const targets = [{ kind: "Deployment", name: NAME }];
  await client.protect(BLOCKED, NAME, { targets, stallDetection: { progress: [blocked.entry?.(BLOCKED)] } });
}

afterAll(async () => {
  await operator.stop();
  await client.deleteNamespace(BLOCKED);
  await client.deleteNamespace(NAMESPACE);
});

function tell(name: string, what: string): void {
  console.log(`${name} after ${Math.round((performance.now() - beganMs) / 1_000)} s: ${what}`);
}

/** Waits until reason and message of the condition say something that stays true. The first message may lack a part of the evidence. */
async function untilSaid(name: string, said: RegExp): Promise<void> {
  const look = async () => {
    const { reason, message } = (await client.condition(NAMESPACE, name, "ControllersActive")) ?? {};
    const text = `${reason}: ${message}`;
    if (said.test(text)) return text;
    throw new Error(text);
  };
  tell(name, await client.until(`the condition of ${name} to say ${said.source}`, look));
}

const untilActive = (name: string) => untilSaid(name, /^Active: /);

function signal(name: string, what: NodeJS.Signals): void {
  process.kill(processIn(before.get(name)!.metadata.name, "kube-scheduler"), what);
}

async function resumeLater(): Promise<void> {
  await sleep(PAUSE_MS);
  signal("paused", "SIGCONT");
}

async function findHung(): Promise<void> {
  const { name } = before.get("hung")!.metadata;
  const isIt = ({ reason, involvedObject }: OperatorEvent) => reason === "PodEvicted" && involvedObject.name === name;
  const { message } = await client.untilEvent(NAMESPACE, isIt);
  tell("hung", message);
  expect(message).toContain(`Pod ${name} of Deployment/hung holds Lease ${NAMESPACE}/hung and no longer renews it.`);
}

/** One lists and watches, the other only watches. */
function findDenied(name: string): Promise<void> {
  const denied = `may no longer (list|watch) configmaps in namespace stalls: RoleBinding ${name} \\(Role ${name}\\) was deleted at `;
  return untilSaid(name, new RegExp(`^AccessLost: Deployment/${name} ${denied}`));
}

describe("controllers that stall", () => {
  it("are active before that", async () => {
    beganMs = performance.now();
    for (const name of all) await untilActive(name);
    const lists = () => client.counter("apiserver_request_total", 'resource="leases"', 'verb="LIST"');
    const before = await lists();
    await client.until("each Lease to be known", async () => (await lists()) >= before + LISTS);
  });

  it("are named with the cause, each by its own evidence", async () => {
    beganMs = performance.now();
    for (const name of ["hung", "paused"]) signal(name, "SIGSTOP");
    await client.recreateServiceAccount(NAMESPACE, "dead");
    for (const name of ["unbound", ...denied]) await client.deleteBinding("RoleBinding", name, NAMESPACE);
    await blocked.act({ client, namespace: BLOCKED, endMs: Infinity });
    await Promise.all([
      resumeLater(),
      findHung(),
      untilSaid("dead", /^LeaseNotRenewed: .*and its requests get 401 responses/),
      // It may no longer use its Lease. A restart would not help, although it is asked for.
      untilSaid("unbound", /RoleBinding unbound \(Role unbound\) was deleted at /),
      ...denied.map(findDenied),
    ]);
  });

  it("are restarted only where this is asked for, and recover", async () => {
    const look = async () => {
      const [restart] = (await client.resilience(NAMESPACE, "hung")).status?.restarts ?? [];
      return restart?.outcome === "Recovered" && restart;
    };
    const restart = await client.until("the restart to help", look);
    expect(restart).toMatchObject({ cause: "LeaseNotRenewed", podUID: before.get("hung")!.metadata.uid });
    await untilActive("hung");
    for (const name of ["dead", "unbound", ...denied])
      expect((await client.resilience(NAMESPACE, name)).status?.restarts ?? [], name).toEqual([]);
  });

  it("leave those beside them alone, also the one that was suspended for a while", async () => {
    for (const name of ["paused", "healthy"]) {
      const [pod] = await client.readyPods(NAMESPACE, name);
      expect(pod!.metadata.uid, name).toBe(before.get(name)!.metadata.uid);
      await untilActive(name);
    }
    const accused = (await client.events(NAMESPACE)).filter(({ type }) => type === "Warning");
    expect(accused.map(({ involvedObject }) => involvedObject.name)).not.toContain("paused");
    expect(accused.map(({ involvedObject }) => involvedObject.name)).not.toContain("healthy");
  });

  it("are named if they have work and nothing moves, although they renew their Lease and log nothing", async () => {
    const at = { namespace: BLOCKED, name: NAME, type: "ControllersActive" };
    const { message } = await client.untilCondition(at, ["ProgressStopped"], 480_000);
    console.log(`${BLOCKED}: after ${Math.round((performance.now() - beganMs) / 1_000)} s: ${message}`);
    expect(message).toMatch(
      /^Widget \w \(generation 2, observed 1\).* due since \S+( or earlier)?; no Widget moved since /,
    );
  });
});
