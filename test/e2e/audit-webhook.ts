import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { type ChartObject, renderChart } from "../cluster/chart";
import type { Lab } from "../lab";

/** The files and arguments of an audit webhook: the chart's Secret, and the policy of docs/audit-webhook.md. */
export interface AuditWebhook {
  readonly operatorArgs: readonly string[];
  readonly apiServerArgs: readonly string[];
  /** Deletes the files. */
  readonly remove: () => void;
}

/** Makes the files of an audit webhook that an operator on the host serves for a lab's API server. */
export async function makeAuditWebhook(lab: Lab): Promise<AuditWebhook> {
  // The host's end of the joint between host and lab.
  const host = new URL(lab.server).hostname.replace(/\.2$/, ".1");
  const text = await renderChart(["--set", "audit.enabled=true", "--set", `audit.clusterIP=${host}`]);
  const objects = parseAllDocuments(text).flatMap(document => (document.toJS() as ChartObject | null) ?? []);
  const secret = objects.find(({ kind }) => kind === "Secret")?.["stringData"] as Record<string, string>;
  const folder = mkdtempSync(join(tmpdir(), "audit-webhook-"));
  const served = join(folder, "served");
  mkdirSync(served);
  for (const name of ["tls.crt", "tls.key", "token"]) writeFileSync(join(served, name), secret[name]!);
  const [policy, kubeconfig] = [join(folder, "policy.yaml"), join(folder, "kubeconfig")];
  writeFileSync(policy, documentedPolicy());
  writeFileSync(kubeconfig, secret["kubeconfig"]!);
  return {
    operatorArgs: ["--audit-dir", served, "--audit-port", "443", "--health-host", "*"],
    apiServerArgs: [
      `--audit-policy-file=${policy}`,
      `--audit-webhook-config-file=${kubeconfig}`,
      ...["--audit-webhook-batch-max-wait=1s", "--audit-webhook-batch-max-size=100"],
      "--audit-webhook-initial-backoff=1s",
    ],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The policy on the page, whose blocks are indented in a list. */
function documentedPolicy(): string {
  const page = readFileSync(join(__dirname, "../../docs/audit-webhook.md"), "utf8").replaceAll(/^ {3}/gm, "");
  const [, policy] = /```yaml\n(apiVersion: audit.*?)```/s.exec(page) ?? [];
  if (policy === undefined) throw new Error("docs/audit-webhook.md shows no policy");
  return policy;
}
