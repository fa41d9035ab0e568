import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { run } from "../../src/cli/kubectl/testing/run";
import { bundleCli } from "../../scripts/bundle-cli";
import { documentedCommands, follow } from "../cluster/documented";
import { clearProblems, type Expected, plantProblems } from "../cluster/planted-problems";
import { Admin } from "./cluster-world";
import { suiteLab } from "./suite-lab";

// `kubectl resilience audit` on a real API server with planted problems: it finds each of them, and nothing else.

interface Report {
  findings: { severity: string; check: string; kind: string; namespace: string; name: string }[];
  unread: { what: string; unknown: string }[];
}

const admin = new Admin();
const audit = (...args: string[]): ReturnType<typeof run> =>
  run(["audit", "--kubeconfig", suiteLab().kubeconfigPath, ...args]);

let before: string[];
let planted: { namespace: string; expected: Expected[] };

beforeAll(async () => {
  before = found(await report());
  planted = await plantProblems(admin);
});

afterAll(async () => {
  await clearProblems(admin, planted.namespace);
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

it("finds each planted problem in the whole cluster, and nothing else", async () => {
  const all = await report();
  expect(all.unread).toEqual([]);
  const added = found(all).filter(finding => !before.includes(finding));
  expect(added.toSorted()).toEqual(planted.expected.map(finding => finding.join(" ")).toSorted());
});

it("finds them in their namespace alone, as text in 80 columns, and exits with 2", async () => {
  const { stdout, code } = await audit("-n", planted.namespace);
  expect(code).toBe(2);
  expect(stdout).toMatch(/^CRITICAL {2}Pod planted-\w+\/gone {2}MissingServiceAccount$/m);
  // A name may be longer than a line.
  const long = stdout.split("\n").filter(line => line.length > 80 && line.trim().includes(" "));
  expect(long.filter(line => !line.includes(planted.namespace) && !line.startsWith("Audit of"))).toEqual([]);
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
  const partial = await report("-n", planted.namespace, "--as", user);
  expect(found(partial)).toContain(`critical MissingServiceAccount Pod ${planted.namespace}/gone`);
  expect(new Set(partial.findings.map(({ check }) => check))).toEqual(new Set(["MissingServiceAccount", "OldToken"]));
  expect(partial.unread).toContainEqual(expect.objectContaining({ what: "list leases", unknown: "StaleLease" }));
  const { code, stderr, stdout } = await audit("--as", user);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^nothing could be read: forbidden \(403\): .*\n$/);
});

it("runs as docs/cli.md says, as a plugin of kubectl", async () => {
  const folder = mkdtempSync(join(tmpdir(), "kubectl-resilience-"));
  try {
    await bundleCli(folder);
    symlinkSync(join(folder, "kubectl-resilience.js"), join(folder, "kubectl-resilience"));
    symlinkSync(join(__dirname, "../../docs"), join(folder, "docs"));
    const headings = ["Look at a cluster", "Ask about an object", "Before you apply an object", "Change something"];
    const commands = headings.map(heading => documentedCommands("cli.md", heading));
    const output = await follow(suiteLab(), [`cd ${folder}; PATH=${folder}:$PATH`, ...commands].join("\n"));
    expect(output).toContain(`CRITICAL  Pod ${planted.namespace}/gone`);
    expect(output).toContain("served: v1alpha1");
    expect(output).toContain("ControllerResilience my-scheduler/my-scheduler  new, only observes: mode Observe");
    expect(output).toContain("TokensAccepted False TargetNotFound");
    expect(readFileSync(join(folder, "audit.html"), "utf8")).toContain(`Lease ${planted.namespace}/stale`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
