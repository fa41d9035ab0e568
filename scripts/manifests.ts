import { renderChart } from "../test/cluster/chart";
import { printer } from "../test/lab/progress";

/** Rendered charts for `kubectl apply`. */
const RENDERED: readonly { path: string; about: string; values: readonly string[] }[] = [
  { path: "deploy/install.yaml", about: "The operator with the default values of the chart.", values: [] },
  {
    path: "deploy/host-process.yaml",
    about:
      "What an operator outside of the cluster (npm start) needs besides crds/: permissions of all remedies, its FlowSchemas, the store of Pepr.",
    values: ["operator.enabled=false", "crds.enabled=false"],
  },
];

/** Renders the manifests in deploy/ with Helm. */
export function manifests(): { path: string; from: string; text: () => Promise<string> }[] {
  return RENDERED.map(({ path, about, values }) => ({
    path,
    from: "deploy/chart",
    text: async () => {
      const rendered = await renderChart(
        ["--set", ["namespace.create=true", ...values].join(",")],
        printer(process.stderr),
      );
      return `# Made from deploy/chart by "npm run generate". Do not edit.\n# ${about}\n${rendered}`;
    },
  }));
}
