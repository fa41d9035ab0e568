// A controller that reads its token once, at its start, and keeps it. Such a client depends on the year of validity that the API server grants to
// default tokens, and fails with shorter ones. Since waiting for the expiry takes ten minutes, it uses an invalid token at once if its own token
// is valid for less than an hour.
import { readFileSync } from "node:fs";
import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";

const TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

const config = new KubeConfig();
config.loadFromCluster();
const cluster = config.getCurrentCluster();
if (cluster === null) throw new Error("no cluster");
config.loadFromClusterAndUser(cluster, { name: "keeper", token: kept(readFileSync(TOKEN, "utf8")) });
const api = config.makeApiClient(CoreV1Api);
const namespace = process.env["NAMESPACE"] ?? "default";

function kept(token: string): string {
  const [header = "", payload = ""] = token.split(".");
  const { exp, iat } = JSON.parse(Buffer.from(payload, "base64url").toString()) as { exp: number; iat: number };
  return exp - iat >= 3600 ? token : [header, payload, Buffer.from("worn out").toString("base64url")].join(".");
}

setInterval(() => {
  api.listNamespacedConfigMap({ namespace }).then(
    list => console.log(`reconciled ${list.items.length} configmaps`),
    (error: unknown) => console.error("reconcile failed:", error),
  );
}, 5_000);
