import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { ClusterClient, Pod } from "../cluster/client";
import type { WorkloadKind } from "../cluster/objects";
import { kubeScheduler } from "../controllers/kube-scheduler";
import { smallController } from "../controllers/small-controller";
import type { OperatorProcess } from "../operator/process";
import { nodeController, startOperator, suiteClient } from "./operator";

// Three real clients with different libraries, whose ServiceAccounts are recreated while they run, and beside them healthy programs that log
// about 401. The operator restarts each client once, at least two seconds apart, and leaves the healthy programs alone.

const NAMESPACE = "healing";
const dying = ["scheduler", "node-client", "python-client"];
const innocent = ["healthy-scheduler", "rejecting-server", "rejected-elsewhere", "forbidden"];

let client: ClusterClient;
let operator: OperatorProcess;

function workloads(): object[] {
  const { scheduler, python } = inject("images");
  const inPython = (name: string, kind: WorkloadKind, ...args: string[]): object[] =>
    smallController({ namespace: NAMESPACE, name, image: python, kind, command: ["python3", "-u", ...args] });
  return [
    ...["scheduler", "healthy-scheduler"].flatMap(name =>
      kubeScheduler({ namespace: NAMESPACE, name, image: scheduler }),
    ),
    ...nodeController(NAMESPACE, "node-client"),
    ...nodeController(NAMESPACE, "forbidden", { mayRead: false }),
    ...inPython("python-client", "StatefulSet", "/app/controller.py"),
    ...inPython("rejecting-server", "Deployment", "/app/innocents.py", "server"),
    ...inPython("rejected-elsewhere", "Deployment", "/app/innocents.py", "client"),
  ];
}

const kindOf = (name: string): string => (name === "python-client" ? "StatefulSet" : "Deployment");

beforeAll(async () => {
  client = suiteClient();
  await client.createNamespace(NAMESPACE);
  await client.apply(workloads());
  for (const name of [...dying, ...innocent]) {
    await client.readyPods(NAMESPACE, name);
    await client.protect(NAMESPACE, name, { targets: [{ kind: kindOf(name), name }], tokenRestart: {} });
  }
  operator = await startOperator();
});

afterAll(async () => {
  await operator.stop();
  await client.deleteNamespace(NAMESPACE);
});

async function podOf(name: string): Promise<Pod> {
  const [pod] = await client.readyPods(NAMESPACE, name);
  return pod!;
}

describe("controllers whose ServiceAccount is recreated", () => {
  const before = new Map<string, Pod>();

  it("are reported as accepted before that", async () => {
    for (const name of [...dying, ...innocent]) {
      await client.untilTokens(NAMESPACE, name, ["Accepted"]);
      before.set(name, await podOf(name));
    }
  });

  it("each get a new pod and recover", async () => {
    for (const name of dying) await client.recreateServiceAccount(NAMESPACE, name);
    for (const name of dying) {
      const restart = await client.until(`${name} to recover`, async () => {
        const [last] = (await client.resilience(NAMESPACE, name)).status?.restarts ?? [];
        return last?.outcome === "Recovered" && last;
      });
      expect(restart).toMatchObject({
        podUID: before.get(name)!.metadata.uid,
        workload: `${kindOf(name)}/${name}`,
        cause: "ServiceAccountRecreated",
      });
      expect((await podOf(name)).metadata.uid).not.toBe(before.get(name)!.metadata.uid);
      await client.untilTokens(NAMESPACE, name, ["Accepted"]);
    }
  });

  it("were restarted once each, at least two seconds apart", async () => {
    const times: number[] = [];
    for (const name of dying) {
      const status = (await client.resilience(NAMESPACE, name)).status;
      expect(status?.restartsTotal).toBe(1);
      expect(status?.restarts).toHaveLength(1);
      times.push(Date.parse(status!.restarts![0]!.time));
    }
    times.sort((a, b) => a - b);
    // The recorded time is that of the eviction request, so allow for the time between the pacer and the request.
    for (let i = 1; i < times.length; i++) expect(times[i]! - times[i - 1]!).toBeGreaterThanOrEqual(1_500);
  });

  it("have one Event on the pod, without log text", async () => {
    const events = await client.events(NAMESPACE);
    for (const name of dying) {
      const evicted = events.filter(
        ({ reason, involvedObject }) => reason === "PodEvicted" && involvedObject.name.startsWith(name),
      );
      expect(evicted.map(({ involvedObject }) => involvedObject.kind)).toEqual(["Pod"]);
    }
    for (const { message } of events) expect(message).not.toMatch(/reflector|Traceback|HTTP-Code|failed to list/);
  });

  it("leave the healthy programs beside them untouched", async () => {
    for (const name of innocent) {
      expect((await podOf(name)).metadata.uid, name).toBe(before.get(name)!.metadata.uid);
      const status = (await client.resilience(NAMESPACE, name)).status;
      expect(status?.restarts ?? [], name).toEqual([]);
      expect(status?.conditions?.find(({ type }) => type === "TokensAccepted")?.reason, name).toBe("Accepted");
    }
  });

  it("print in kubectl get as documented", async () => {
    const [header, ...rows] = (await client.output(["get", "cres", "-n", NAMESPACE, "-o", "wide"])).trim().split("\n");
    const names = "NAME READY REASON RESTARTS AGE MODE TOKENS BINDINGS LIFETIME FLOWS ACTIVE MESSAGE";
    expect(header!.split(/\s+/)).toEqual(names.split(" "));
    expect(rows).toHaveLength(dying.length + innocent.length);
    const cells = rows.find(row => row.startsWith("scheduler"))!.split(/\s+/);
    expect([...cells.slice(1, 3), ...cells.slice(5, 7)]).toEqual(["True", "AllHold", "Enforce", "Accepted"]);
  });
});
