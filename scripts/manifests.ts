import { join } from "node:path";
import { helm } from "../test/lab/helm";
import { KUBERNETES_VERSION } from "../test/lab/go-build";
import { printer } from "../test/lab/progress";

const CHART = "deploy/chart";
const NAMESPACE = "controller-resilience-system";

/** What is rendered from the chart, for `kubectl apply`. */
const RENDERED: readonly { path: string; about: string; values: readonly string[] }[] = [
  { path: "deploy/install.yaml", about: "The operator, with the chart's own values.", values: [] },
  {
    path: "deploy/host-process.yaml",
    about:
      "What the operator needs on a cluster when it runs outside of it (npm start), beside crds/: the rights of all remedies, its own flows, Pepr's store.",
    values: ["operator.enabled=false", "crds.enabled=false", "tokenLifetime.viaAdmission=true"],
  },
];

/** The manifests that are kept in deploy/, each as Helm itself renders it. */
export function manifests(root: string): { path: string; from: string; text: () => Promise<string> }[] {
  return RENDERED.map(({ path, about, values }) => ({
    path,
    from: CHART,
    text: async () =>
      `# Made from ${CHART} by "npm run generate". Do not edit.\n# ${about}\n${await render(root, values)}`,
  }));
}

async function render(root: string, values: readonly string[]): Promise<string> {
  const set = ["namespace.create=true", ...values].join(",");
  const args = ["template", "controller-resilience", join(root, CHART), "--namespace", NAMESPACE];
  const { code, stdout, stderr } = await helm([...args, "--kube-version", KUBERNETES_VERSION, "--set", set], {
    progress: printer(process.stderr),
  });
  if (code !== 0) throw new Error(`the chart can't be rendered: ${stderr.trim()}`);
  return stdout;
}
