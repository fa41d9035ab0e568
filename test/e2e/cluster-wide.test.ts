import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { bundleCli } from "../../scripts/bundle-cli";
import type { ClusterControllerResilience } from "../../src/api/cluster-controller-resilience";
import type { ClusterClient } from "../cluster/client";
import { documentedCommands, follow } from "../cluster/documented";
import { clusterRoleBindingsOf, kubeScheduler } from "../controllers/kube-scheduler";
import { filledIn, panels } from "../monitoring/dashboard";
import { PrometheusProcess } from "../monitoring/prometheus";
import { WebhookReceiver } from "../monitoring/webhook-receiver";
import type { OperatorProcess } from "../operator/process";
import { nodeController, startOperator, suiteClient, suiteLab } from "./operator";

// docs/cluster-wide.md, followed on a real node: one object protects 40 namespaces with 80 controllers. Two controllers run; the others have no
// replicas, since one node is too small for them. The walkthrough of docs/observability.md breaks one of these two.

const PAGE = "cluster-wide.md";
/** The namespace in which the page lets the operator act, and one that it only observes. */
const [ENFORCED, OBSERVED] = ["my-scheduler", "observed"];
const NAME = "controller";
const EMPTY = Array.from({ length: 38 }, (_, index) => `empty-${index}`);
const namespaces = [ENFORCED, OBSERVED, ...EMPTY];
const NONE = { replicas: 0 };

let client: ClusterClient;
let operator: OperatorProcess;
let prometheus: PrometheusProcess;
let receiver: WebhookReceiver;
/** Has the plugin. */
const folder = mkdtempSync(join(tmpdir(), "walkthrough-"));

beforeAll(async () => {
  client = suiteClient();
  await client.apply(namespaces.map(name => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })));
  await client.apply([
    ...[ENFORCED, OBSERVED].flatMap(name => [...nodeController(name, NAME), ...nodeController(name, "idle", NONE)]),
    ...EMPTY.flatMap(name => [...nodeController(name, "one", NONE), ...nodeController(name, "two", NONE)]),
  ]);
  for (const name of [ENFORCED, OBSERVED]) await client.readyPods(name, NAME);
  await bundleCli(join(folder, "package"));
  symlinkSync(join(folder, "package", "kubectl-resilience.js"), join(folder, "kubectl-resilience"));
  receiver = await WebhookReceiver.start();
  operator = await startOperator("--notify-dir", receiver.folder);
  prometheus = await PrometheusProcess.start(operator.address);
});

afterAll(async () => {
  await (prometheus as PrometheusProcess | undefined)?.stop();
  await (operator as OperatorProcess | undefined)?.stop();
  await (receiver as WebhookReceiver | undefined)?.stop();
  rmSync(folder, { recursive: true });
  const bindings = clusterRoleBindingsOf({ namespace: "late", name: NAME });
  await client.output(["delete", "clusterrolebinding", ...bindings, "--ignore-not-found"]);
  await client.output(["delete", "namespace", ...namespaces, "--ignore-not-found", "--wait=false"]);
});

const uid = async (namespace: string): Promise<string | undefined> =>
  (await client.readyPods(namespace, NAME))[0]?.metadata.uid;

/** Follows a section of docs/observability.md about the controller that is only observed. */
function walk(heading: string): Promise<string> {
  const values = {
    NAMESPACE: OBSERVED,
    NAME,
    METRICS: `http://${operator.address}/metrics`,
    PROMETHEUS: prometheus.url,
  };
  const exports = Object.entries(values).map(([name, value]) => `export ${name}=${value}`);
  const asked = documentedCommands("observability.md", "Break a controller and see it");
  expect([...asked.matchAll(/^export (\w+)=/gm)].map(([, name]) => name)).toEqual(Object.keys(values));
  return follow(
    suiteLab(),
    [...exports, `PATH=${folder}:$PATH`, documentedCommands("observability.md", heading)].join("\n"),
  );
}

const object = (): Promise<ClusterControllerResilience> => client.json(["get", "ccres", "default"]);

it("protects 40 namespaces with 80 controllers in Observe mode", async () => {
  await follow(suiteLab(), documentedCommands(PAGE, "Observe everything"));
  const { status } = await client.until("everything to be protected", async () => {
    const found = await object();
    const { protected: count = 0, workloads = 1 } = found.status ?? {};
    return count === workloads && count >= 80 && found;
  });
  expect(status?.namespaces).toBeGreaterThanOrEqual(40);
  expect(status?.conflicts).toEqual([]);
  for (const namespace of namespaces) expect((await client.resilience(namespace, "default")).spec.mode).toBe("Observe");
});

it("acts in one namespace only, and says in the other what it would do", async () => {
  await follow(suiteLab(), documentedCommands(PAGE, "Act, group by group"));
  const before = { enforced: await uid(ENFORCED), observed: await uid(OBSERVED) };
  await client.recreateServiceAccount(ENFORCED, NAME);
  await walk("Break it");
  await client.until("the pod to be replaced", async () => (await uid(ENFORCED)) !== before.enforced);
  await client.untilTokens(OBSERVED, "default", ["WouldRestart"]);
  expect(await uid(OBSERVED)).toBe(before.observed);
});

it("shows the broken controller in kubectl, the plugin, /metrics, Prometheus, the dashboard and the webhook", async () => {
  const workload = `Deployment/${NAME}`;
  const rejected = async () =>
    (await prometheus.firing()).filter(alert => alert.labels["alertname"] === "ControllerTokenRejected");
  const look = async () => (await rejected()).find(alert => alert.labels["namespace"] === OBSERVED);
  const { labels, annotations } = await client.until("the alert", look);
  expect(labels).toMatchObject({ severity: "critical", name: "default", workload });
  expect(annotations["summary"]).toBe(`${workload} in ${OBSERVED} gets 401s and is not healed.`);
  expect(annotations["description"]).toContain("A Helm hook recreated their ServiceAccount and will do so again");

  const seen = await walk("See it");
  for (const expected of [
    /^default +False +WouldRestart +0 +\S+ +Observe +WouldRestart /m,
    /TokensAccepted False WouldRestart/,
    /^ {2}- Deployment\/controller: pods: 1; recreated by: HelmHook; rejected pods: 1$/m,
    /^ {4}help: It is only observed: set mode Enforce, or restart the pod by hand\.$/m,
    /^ {7}kubectl describe pod controller-\S+ -n observed$/m,
    /^(CRITICAL|WARNING ) {2}Pod observed\/controller-\S+ {2}RejectedNow$/m,
    new RegExp(`^controller_resilience_rejected_pods\\{.*namespace="${OBSERVED}".*recreated_by="HelmHook"\\} 1$`, "m"),
    /^ALERTS\{.*alertname="ControllerTokenRejected".*alertstate="firing".*\} => 1/m,
  ])
    expect(seen).toMatch(expected);
  const shown = await Promise.all(
    panels.map(async ({ title, targets = [] }) => {
      const series = await Promise.all(targets.map(({ expr }) => prometheus.series(filledIn(expr))));
      return [title, series.flat()] as const;
    }),
  );
  expect(new Map(shown).get("Pods with rejected tokens")).toContainEqual({ namespace: OBSERVED, workload });
  const told = () => receiver.received.filter(({ data: { regarding } }) => regarding.namespace === OBSERVED);
  const begins = () => told().filter(({ subject }) => subject === "WouldRestart");
  // A Warning about a condition is written once it has lasted for half a minute.
  await client.until("the notification", () => Promise.resolve(begins().length > 0));
  expect(begins()).toMatchObject([{ type: "io.controller-resilience.event.warning" }]);

  await walk("Heal it");
  await client.until("all such alerts to resolve", async () => (await rejected()).length === 0);
  const later = () => told().slice(told().findLastIndex(({ subject }) => subject === "WouldRestart") + 1);
  const isOver = (): boolean => later().some(({ type, subject }) => type.endsWith(".normal") && subject === "Accepted");
  await client.until("the end of the problem", () => Promise.resolve(isOver()));
  const ofOperator =
    /^ControllerResilience(NotLeading|TwoLeaders|IdentityRejected|WatchStalled|ClockOff|BreakerTripped)$/;
  const isWell = async () =>
    !(await prometheus.firing()).some(({ labels: { alertname = "" } }) => ofOperator.test(alertname));
  await client.until("no alert about the operator itself", isWell);
});

it("audits a pod for which the kubelet gets no token", async () => {
  const namespace = "empty-0";
  const metadata = { name: "no-tokens" };
  const api = "admissionregistration.k8s.io/v1";
  await client.apply([
    {
      ...{ apiVersion: api, kind: "ValidatingAdmissionPolicy", metadata },
      spec: {
        matchConstraints: {
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
          resourceRules: [
            { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["serviceaccounts/token"] },
          ],
        },
        validations: [{ expression: "false", message: "no tokens here" }],
      },
    },
    {
      ...{ apiVersion: api, kind: "ValidatingAdmissionPolicyBinding", metadata },
      spec: { policyName: metadata.name, validationActions: ["Deny"] },
    },
  ]);
  try {
    const denied = async () => (await client.kubectl(["create", "token", "one", "-n", namespace])).code !== 0;
    await client.until("the policy to hold", denied);
    const containers = [{ name: "main", image: inject("images").node, imagePullPolicy: "Never" }];
    await client.apply([
      {
        ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "waits", namespace } },
        spec: { serviceAccountName: "one", containers },
      },
    ]);
    const audit = `PATH=${folder}:$PATH; kubectl resilience audit -n ${namespace} || [ $? -eq 2 ]`;
    const found = async () => {
      const output = await follow(suiteLab(), audit);
      return output.includes(`CRITICAL  Pod ${namespace}/waits  FailedToken`) && output;
    };
    expect(await client.until("the finding", found)).toContain("the API server denies it");
  } finally {
    await client.output(["delete", "pod", "waits", "-n", namespace, "--ignore-not-found", "--wait=false"]);
    for (const kind of ["validatingadmissionpolicybinding", "validatingadmissionpolicy"])
      await client.output(["delete", kind, metadata.name, "--ignore-not-found"]);
  }
});

it("heals a scheduler in a namespace that was created after the object", async () => {
  await client.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "late", labels: { resilience: "enforce" } } },
  ]);
  namespaces.push("late");
  await client.apply(kubeScheduler({ namespace: "late", name: NAME, image: inject("images").scheduler }));
  const first = await uid("late");
  await client.recreateServiceAccount("late", NAME);
  await client.until("the late pod to be replaced", async () => (await uid("late")) !== first);
});

it("leaves nothing behind", async () => {
  await follow(suiteLab(), documentedCommands(PAGE, "Remove it"));
  const left = await client.output(["get", "cres", "-A", "-o", "name"]);
  expect(left.trim()).toBe("");
});
