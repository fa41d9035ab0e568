// A controller without backoff: 64 workers that read ConfigMaps every four seconds each, and retry at once when they are forbidden to.
// It exits after ten minutes of continuous refusals, in case no test stops it.
import { readFileSync } from "node:fs";
import { Agent, get } from "node:https";

const WORKERS = 64;
const PAUSE_MS = 4_000;
const LONGEST_REFUSED_MS = 600_000;

const folder = "/var/run/secrets/kubernetes.io/serviceaccount";
const read = (name: string): string => readFileSync(`${folder}/${name}`, "utf8").trim();
const agent = new Agent({ keepAlive: true, maxSockets: WORKERS, ca: read("ca.crt") });
const path = `/api/v1/namespaces/${read("namespace")}/configmaps?limit=1`;
let token = read("token");
let allowedAtMs = performance.now();

/** Status of the answer; 0 if there was none. */
function ask(): Promise<number> {
  return new Promise(resolve => {
    const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
    const headers = { authorization: `Bearer ${token}` };
    const request = get({ agent, host, port, path, headers }, answer => {
      answer.resume();
      answer.on("close", () => resolve(answer.statusCode ?? 0));
    });
    request.on("error", () => resolve(0));
  });
}

async function work(): Promise<never> {
  for (;;) {
    const status = await ask();
    if (status === 200) allowedAtMs = performance.now();
    if (performance.now() - allowedAtMs > LONGEST_REFUSED_MS) process.exit(1);
    if (status !== 403 && status !== 429) await new Promise(resolve => setTimeout(resolve, PAUSE_MS));
  }
}

setInterval(() => (token = read("token")), 60_000);
for (let worker = 0; worker < WORKERS; worker++) void work();
