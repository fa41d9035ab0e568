import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { forEach } from "../../cluster/for-each";
import type { World } from "./world";

/** A page of a controller-runtime manager that has nothing to do; its other series are as many bytes as one has. */
const FIXTURE = join(__dirname, "../../fixtures/pod-metrics/controller-runtime-all-blocked-1.txt");
const OTHER_SERIES = `rest_client_request_duration_seconds_bucket{host="10.96.0.1:443",verb="GET",le="0.005"} 43\n`;
const PAGE_BYTES = 66_000;

/** Gives all pods the address of this machine, which serves a page of metrics for each of them: kwok's have no route. */
export async function servePages(world: World): Promise<{ readonly port: number; readonly served: () => number }> {
  let served = 0;
  const own = readFileSync(FIXTURE, "utf8").replace(/^(workqueue_(?:depth|longest)\S+) \S+$/gm, "$1 0");
  const page = own + OTHER_SERIES.repeat((PAGE_BYTES - own.length) / OTHER_SERIES.length);
  const ip = Object.values(networkInterfaces())
    .flat()
    .find(one => one?.family === "IPv4" && !one.internal)?.address;
  const server = createServer((_, response) => {
    served++;
    response.end(page);
  });
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(0, ip, resolve));
  world.defer(() => server.closeAllConnections());
  world.defer(() => server.close());
  const { items } = await world.admin.get<{ items: Pod[] }>("/api/v1/pods?resourceVersion=0");
  await forEach(items.length, i => {
    const { namespace, name } = items[i]!.metadata;
    const status = { podIP: ip, podIPs: [{ ip }] };
    return world.admin.patch(`/api/v1/namespaces/${namespace}/pods/${name}/status`, { status });
  });
  return { port: (server.address() as AddressInfo).port, served: () => served };
}

interface Pod {
  readonly metadata: { readonly namespace: string; readonly name: string };
}
