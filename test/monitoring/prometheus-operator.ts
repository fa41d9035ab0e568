import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { must } from "../lab/commands";

const VERSION = "github.com/prometheus-operator/prometheus-operator@v0.85.0";
/** As in a go.sum. */
const SUM = "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=";
const TIMEOUT_MS = 300_000;

/** The Prometheus Operator's own definitions of PodMonitor and PrometheusRule, as YAML. */
export async function prometheusOperatorApi(): Promise<string> {
  const env = { ...process.env, GOFLAGS: "-mod=mod" };
  const told = await must(["go", "-C", tmpdir(), "mod", "download", "-json", VERSION], { env, timeoutMs: TIMEOUT_MS });
  const { Dir: folder, Sum: sum } = JSON.parse(told) as { Dir: string; Sum: string };
  if (sum !== SUM) throw new Error(`${VERSION}: expected checksum ${SUM}, got ${sum}`);
  const crds = join(folder, "example", "prometheus-operator-crd");
  const texts = ["podmonitors", "prometheusrules"].map(kind =>
    readFileSync(join(crds, `monitoring.coreos.com_${kind}.yaml`), "utf8"),
  );
  return texts.join("\n---\n");
}
