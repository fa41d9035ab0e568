import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { run } from "../../src/cli/kubectl/testing/run";
import { bundleCli } from "../../scripts/bundle-cli";
import { documentedCommands, follow } from "../cluster/documented";
import { StandInKubelet } from "../cluster/kubelet";
import { type Expected, LOG_WORD, type Planted, plantProblems } from "../cluster/planted-problems";
import { suiteAdmin, suiteLab } from "./suite-lab";

// `kubectl resilience audit` on a real API server with planted problems: it finds each of them, and nothing else.

interface Report {
  findings: { severity: string; check: string; kind: string; namespace: string; name: string }[];
  unread: string[];
}

const admin = suiteAdmin();
const audit = (...args: string[]): ReturnType<typeof run> =>
  run(["audit", "--kubeconfig", suiteLab().kubeconfigPath, ...args]);

/** Has the npm package. */
const folder = mkdtempSync(join(tmpdir(), "kubectl-resilience-"));
let before: string[];
let planted: Planted;

/** Serves the planted logs. */
const kubelet = new StandInKubelet();
const NODE = `audited-${process.pid}`;

beforeAll(async () => {
  before = found(await report());
  await kubelet.start(admin, NODE);
  planted = await plantProblems(admin, NODE);
  kubelet.answer = ({ pod }, response) => response.end(planted.logs[pod] ?? "");
  await bundleCli(join(folder, "package"));
});

afterAll(async () => {
  rmSync(folder, { recursive: true });
  await admin.delete(`/api/v1/nodes/${NODE}`);
  await kubelet.stop();
  admin.connection.close();
});

async function report(...args: string[]): Promise<Report> {
  return JSON.parse((await audit("-o", "json", ...args)).stdout) as Report;
}

/** Findings as severity, check and object. */
function found({ findings }: Report): string[] {
  return findings.map(({ severity, check, kind, namespace, name }) =>
    [severity, check, `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`].join(" "),
  );
}

/** Expects what was planted, and nothing that the cluster did not have before. */
function expectPlanted(all: Report, expected: readonly Expected[] = planted.expected): void {
  expect(all.unread).toEqual([]);
  const added = found(all).filter(finding => !before.includes(finding));
  expect(added.toSorted()).toEqual(expected.map(finding => finding.join(" ")).toSorted());
}

it("finds each planted problem in the whole cluster, and nothing else", async () => {
  expectPlanted(await report());
});

it("finds them in their namespace alone, as text in 80 columns, and exits with 2", async () => {
  const { stdout, code } = await audit("-n", planted.namespace);
  expect(code).toBe(2);
  expect(stdout).toMatch(/^CRITICAL {2}Pod planted-\w+\/gone {2}MissingServiceAccount$/m);
  // A name may be longer than a line.
  const long = stdout.split("\n").filter(line => line.length > 80 && line.trim().includes(" "));
  expect(long.filter(line => !line.includes(planted.namespace) && !line.startsWith("Audit of"))).toEqual([]);
});

it("finds 401s and 403s in logs as well, of running controllers only, and prints nothing of the logs", async () => {
  kubelet.calls.length = 0;
  const { stdout } = await audit("-n", planted.namespace, "--logs", "-o", "json");
  expectPlanted(JSON.parse(stdout) as Report, [...planted.expected, ...planted.expectedOfLogs]);
  expect(stdout).not.toContain(LOG_WORD);
  const read = kubelet.calls.map(({ pod }) => pod);
  expect(read.toSorted()).toEqual(
    Object.keys(planted.logs)
      .filter(pod => pod !== "ended")
      .toSorted(),
  );
});

it("reports what it may read, and what is unknown because it may not read the rest", async () => {
  const user = `auditor-${planted.namespace}`;
  const name = "audits-pods";
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${planted.namespace}`;
  await admin.create(`${path}/roles`, {
    metadata: { name },
    rules: [{ apiGroups: [""], resources: ["pods", "serviceaccounts"], verbs: ["list"] }],
  });
  await admin.create(`${path}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  });
  await admin.untilAllowed(user, { namespace: planted.namespace, verb: "list", resource: "serviceaccounts" });
  const partial = await report("-n", planted.namespace, "--as", user);
  expect(found(partial)).toContain(`critical MissingServiceAccount Pod ${planted.namespace}/gone`);
  expect(new Set(partial.findings.map(({ check }) => check))).toEqual(new Set(["MissingServiceAccount", "OldToken"]));
  expect(partial.unread).toContain(`list leases in ${planted.namespace}: no rights (403)`);
  const { code, stderr, stdout } = await audit("--as", user);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^nothing could be read: list \w+: no rights \(403\); .*\n$/);
});

it("runs as docs/cli.md says, as a plugin of kubectl", async () => {
  symlinkSync(join(folder, "package", "kubectl-resilience.js"), join(folder, "kubectl-resilience"));
  symlinkSync(join(__dirname, "../../docs"), join(folder, "docs"));
  const headings = ["Look at a cluster", "Before you apply an object", "Ask about an object", "Change something"];
  const [look, plan, ...others] = headings.map(heading => documentedCommands("cli.md", heading));
  const apply = "kubectl create namespace my-scheduler; kubectl apply -f docs/examples/first-object.yaml";
  const remove =
    "kubectl delete -f docs/examples/first-object.yaml; kubectl delete namespace my-scheduler --wait=false";
  const commands = [`cd ${folder}; PATH=${folder}:$PATH`, look, plan, apply, ...others, remove];
  const output = await follow(suiteLab(), commands.join("\n"));
  for (const expected of [
    `CRITICAL  Pod ${planted.namespace}/gone`,
    `Lease ${planted.namespace}/stale`,
    "ControllerResilience my-scheduler/my-scheduler  new, only observes: mode Observe",
    "TokensAccepted False TargetNotFound",
    "none: the operator has reported nothing yet",
    "Workloads that use it: none.",
    "served: v1alpha1",
    "my-scheduler patched",
  ])
    expect(output).toContain(expected);
  expect(output).not.toContain("Not readable");
  const page = readFileSync(join(folder, "audit.html"), "utf8");
  expect(page).toContain(`<li>Lease <b><span>${planted.namespace}/</span><wbr><span>stale</span></b></li>`);
});
