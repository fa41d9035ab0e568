import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ClusterClient } from "../cluster/client";
import { installation, OPERATOR } from "../cluster/installation";
import { Lab } from "../lab";
import { promtool } from "../lab/prometheus";
import type { LogLine } from "../operator/log";
import { type OperatorOptions, OperatorProcess } from "../operator/process";
import { kubeconfigVia, RecordingProxy, upstreamOf } from "../rig/proxy";
import { ownLabName } from "./suite-lab";

// An operator that starts before its prerequisites exist: it stays alive, is not ready, reports what is missing, and works as soon as the
// prerequisites exist. It has its own lab, in which nothing is installed at first.

const { namespace, serviceAccount } = OPERATOR;
const root = join(__dirname, "..", "..");
const CRD = "crds/controllerresilience.yaml";

/** Much less than a full pass, which the operator makes every 81 s at the soonest with this interval: {@link LONGEST_PASS}. */
const SEEN_WITHIN_MS = 60_000;
const LONGEST_PASS = { RESILIENCE_FULL_PASS_SECONDS: "90" };

let lab: Lab;
let client: ClusterClient;
const running: OperatorProcess[] = [];
/** Starts first: it says so only when it has not reached its Lease for two minutes. */
let nowhere: OperatorProcess;

function start(options: OperatorOptions): OperatorProcess {
  const operator = OperatorProcess.start(options);
  running.push(operator);
  return operator;
}

function apply(path: string): Promise<void> {
  return client.apply(readFileSync(join(root, path), "utf8"));
}

/** Waits until /readyz contains a text; returns its output. */
function untilUnready(operator: OperatorProcess, words: string): Promise<string> {
  const told = async (): Promise<string | false> => {
    expect(operator.exitCode, "the operator has ended").toBeUndefined();
    const { status, text } = await operator.probe("/readyz");
    return status === 503 && text.includes(words) && text;
  };
  return client.until(`/readyz to say "${words}"`, told);
}

function warnings({ log }: OperatorProcess): LogLine[] {
  return log.filter(({ level }) => level === "warn" || level === "error");
}

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("start"), controlPlaneOnly: true });
  client = ClusterClient.of(lab);
  nowhere = OperatorProcess.start({ kubeconfig: lab.kubeconfigPath, args: ["--namespace", "nowhere"] });
});

afterEach(async () => {
  for (const operator of running.splice(0)) await operator.stop();
});

afterAll(async () => {
  await nowhere.stop();
  await lab.down();
});

describe("an operator that is started before it is installed", () => {
  it("reports the missing right to its Lease, then the missing definition, and works when both exist", async () => {
    await client.createNamespace(namespace);
    await client.apply([{ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name: serviceAccount } }]);
    const operator = start({ kubeconfig: await lab.serviceAccountKubeconfig(namespace, serviceAccount) });
    await untilUnready(operator, "lease failed: failed to acquire lease: get leases");

    for (const path of installation.filter(path => path !== CRD)) await apply(path);
    await untilUnready(
      operator,
      "objects failed: expected the resource controllerresiliences, got none: install crds/",
    );

    await apply(CRD);
    await operator.ready();
    expect(await operator.stop()).toBe(0);
  });

  it("logs no warning when everything is installed", async () => {
    const operator = start({ kubeconfig: await lab.serviceAccountKubeconfig(namespace, serviceAccount) });
    await operator.ready();
    expect(warnings(operator)).toEqual([]);
  });
});

describe("an API server that is away", () => {
  let proxy: RecordingProxy;

  beforeAll(async () => {
    for (const path of installation) await apply(path);
    proxy = new RecordingProxy(upstreamOf(lab));
    await proxy.start();
  });
  afterAll(() => proxy.stop());

  it("is retried until it answers, and objects are watched from then on", async () => {
    const path = await lab.serviceAccountKubeconfig(namespace, serviceAccount);
    const kubeconfig = `${path}-proxied`;
    writeFileSync(kubeconfig, kubeconfigVia(proxy.url, path), { mode: 0o600 });
    const comeBack = proxy.cutOff();
    const operator = start({ kubeconfig, env: LONGEST_PASS });
    const text = await untilUnready(operator, "api-server failed: no response from the API server yet");
    expect(text).toContain("lease failed: failed to acquire lease");

    await comeBack();
    await operator.ready();
    await client.until("the operator to lead", () => operator.leads());
    await client.createNamespace("watched");
    // Without a watch a full pass may see the first object at once, but then comes too late for the second.
    for (const name of ["first", "second"]) {
      await client.protect("watched", name, { targets: [{ kind: "Deployment", name }], tokenRestart: {} });
      const seen = async (): Promise<boolean> =>
        (await client.resilience("watched", name)).status?.conditions !== undefined;
      await client.until(`the ${name} object to be seen`, seen, SEEN_WITHIN_MS);
    }
    const checked = await promtool(["check", "metrics"], (await operator.probe("/metrics")).text);
    expect(checked).toEqual({ code: 0, stdout: "", stderr: "" });
  });
});

it("a namespace of the Lease that does not exist is reported, and the operator is not ready", async () => {
  const words = 'create leases nowhere/controller-resilience: not found (404): namespaces "nowhere" not found';
  await untilUnready(nowhere, words);
});
