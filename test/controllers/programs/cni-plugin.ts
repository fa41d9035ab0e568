// A CNI plugin that is chained after the bridge. Like Calico's, it sends a request to the API server before a pod gets its network, with the
// credential that its agent wrote to the node. After a 401 it fails with Calico's message. A file makes it fail with another message.
import { existsSync, readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";

const FOLDER = "/var/lib/lab-cni";
const TIMEOUT_MS = 5_000;

interface Credential {
  readonly server: string;
  readonly ca: string;
  readonly token: string;
}

function ask({ server, ca, token }: Credential): Promise<number> {
  const options = { ca, headers: { authorization: `Bearer ${token}` }, timeout: TIMEOUT_MS };
  return new Promise((resolve, reject) => {
    const call = request(`${server}/version`, options, response => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.on("timeout", () => call.destroy(new Error("timeout")));
    call.on("error", reject);
    call.end();
  });
}

/** Why this pod gets no network; undefined if it gets one. */
async function trouble(): Promise<string | undefined> {
  const other = join(FOLDER, "failure");
  if (existsSync(other)) return readFileSync(other, "utf8").trim();
  const path = join(FOLDER, "credential.json");
  if (!existsSync(path)) return "stat /var/lib/lab-cni/credential.json: no such file or directory";
  const code = await ask(JSON.parse(readFileSync(path, "utf8")) as Credential);
  if (code === 401) return "error getting ClusterInformation: connection is unauthorized: Unauthorized";
  return code === 200 ? undefined : `error getting ClusterInformation: the API server answered ${code}`;
}

async function main(): Promise<void> {
  const { cniVersion, prevResult } = JSON.parse(readFileSync(0, "utf8")) as { cniVersion: string; prevResult?: object };
  const command = process.env["CNI_COMMAND"];
  if (command === "VERSION") console.log(JSON.stringify({ cniVersion, supportedVersions: ["0.3.1", "0.4.0"] }));
  if (command !== "ADD") return;
  const msg = await trouble().catch((error: unknown) => String(error));
  console.log(JSON.stringify(msg === undefined ? prevResult : { cniVersion, code: 100, msg }));
  process.exitCode = msg === undefined ? 0 : 1;
}

void main();
