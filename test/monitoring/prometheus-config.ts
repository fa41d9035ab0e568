import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

interface Config {
  global: object;
  scrape_configs: Record<string, unknown>[];
}

/**
 * The documented configuration of a Prometheus without its operator, with a fixed target: Debian's Prometheus is built without the discovery of
 * Kubernetes.
 */
export function exampleConfig(target: string, global: object = {}): object {
  const path = join(__dirname, "../../docs/examples/prometheus.yaml");
  const config = parse(readFileSync(path, "utf8")) as Config;
  const jobs = config.scrape_configs.map(job => ({
    ...Object.fromEntries(Object.entries(job).filter(([name]) => !/^(kubernetes_sd|relabel)_configs$/.test(name))),
    static_configs: [{ targets: [target] }],
  }));
  return { ...config, global: { ...config.global, ...global }, scrape_configs: jobs };
}
