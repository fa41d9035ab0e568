// Draws docs/images/audit.png: the page of `kubectl resilience audit -o html` of an invented cluster, as Chromium shows it. Chromium differs
// between versions, so this is no part of `npm run generate`: node scripts/run.mjs scripts/audit-picture.ts [FOLDER], with the environment
// variable CHROMIUM if its name is another one. With a folder it also leaves the page there, and that of a cluster without problems.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatHtml } from "../src/cli/kubectl/audit/html";
import type { Report } from "../src/cli/kubectl/audit/finding";
import { ago, answerOf, binding, meta, pod, type World, workload } from "../src/cli/kubectl/testing/world";
import { run } from "../src/cli/kubectl/testing/run";
import { FakeServer } from "../src/cluster/testing/fake-server";

const PICTURE = join(__dirname, "../docs/images/audit.png");
const SIZE = "1120,1080";

const CONTROLLERS = ["cert-approver", "dns-updater", "image-pruner", "quota-sync"];
const account = (name: string, seconds: number, annotations: object = {}): object => ({
  metadata: meta(name, { creationTimestamp: ago(seconds), annotations }),
});

const WORLD: World = {
  namespaces: [{ metadata: { ...meta("shop"), namespace: undefined } }],
  serviceaccounts: [
    account("web", 240, { "helm.sh/hook": "pre-upgrade" }),
    ...CONTROLLERS.map(name => account(name, 90_000)),
  ],
  pods: [
    ...["web-5d8f9c6b7-x7k2p", "web-5d8f9c6b7-q4zrt"].map(name => pod(name, "web")),
    pod("payments-reconciler-0", "payments-reconciler"),
    ...CONTROLLERS.map(name => pod(`${name}-0`, name)),
  ],
  deployments: ["web", ...CONTROLLERS].map(name => workload(name)),
  rolebindings: [
    binding("web"),
    ...CONTROLLERS.map(name => binding(name)),
    binding("dns-updater", { name: "breakglass-dns", annotations: { "janitor/expires": ago(-4 * 86_400) } }),
  ],
};

async function audit(world: World): Promise<Report> {
  const server = new FakeServer(answerOf(world));
  try {
    const { stdout } = await run(["audit", "-o", "json"], { KUBECONFIG: await server.start() });
    return { ...(JSON.parse(stdout) as Report), context: "production-eu", server: "https://10.0.0.1:6443" };
  } finally {
    await server.stop();
  }
}

async function main(): Promise<void> {
  const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), "audit-picture-"));
  const page = join(folder, "audit.html");
  writeFileSync(page, formatHtml(await audit(WORLD)));
  writeFileSync(join(folder, "empty.html"), formatHtml(await audit({ namespaces: WORLD["namespaces"]! })));
  const options = ["--headless", "--no-sandbox", "--hide-scrollbars", `--window-size=${SIZE}`];
  execFileSync(process.env["CHROMIUM"] ?? "chromium", [...options, `--screenshot=${PICTURE}`, page], { stdio: "pipe" });
  if (process.argv[2] === undefined) rmSync(folder, { recursive: true });
}

void main();
