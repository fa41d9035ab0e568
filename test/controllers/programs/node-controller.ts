// A small controller on @kubernetes/client-node, in the style of its examples: an informer that restarts after an error.
// The end-to-end tests bundle it into an image and make its token invalid.
import { CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap } from "@kubernetes/client-node";

const config = new KubeConfig();
config.loadFromCluster();
const api = config.makeApiClient(CoreV1Api);
const namespace = process.env["NAMESPACE"] ?? "default";

const informer = makeInformer<V1ConfigMap>(config, `/api/v1/namespaces/${namespace}/configmaps`, () =>
  api.listNamespacedConfigMap({ namespace }),
);
for (const event of ["add", "update", "delete"] as const) {
  informer.on(event, object => console.log(`${event} configmap ${object.metadata?.name ?? "?"}`));
}
informer.on("error", (error: unknown) => {
  console.error(error);
  setTimeout(() => start(), 5_000);
});

function start(): void {
  informer.start().catch((error: unknown) => {
    console.error("could not start the informer", error);
    setTimeout(() => start(), 5_000);
  });
}

start();
// It also reconciles on a timer, as small controllers do.
setInterval(() => {
  api.listNamespacedConfigMap({ namespace }).then(
    list => console.log(`reconciled ${list.items.length} configmaps`),
    (error: unknown) => console.error("reconcile failed:", error),
  );
}, 7_000);
