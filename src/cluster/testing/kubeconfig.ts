import { KubeConfig } from "@kubernetes/client-node";

/** Loads one kubeconfig file. */
export function loadKubeConfigFile(file: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(file);
  return config;
}
