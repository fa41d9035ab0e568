// An agent as network plugins have them: it writes a credential of another ServiceAccount to its node, which the plugin uses for a request to the API
// server whenever a pod starts. It writes the credential once, at its start; after that it is Ready and logs nothing more.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { request } from "node:https";
import { join } from "node:path";

const OWN = "/var/run/secrets/kubernetes.io/serviceaccount";
const FOLDER = "/host";
const RETRY_MS = 1_000;

const { KUBERNETES_SERVICE_HOST: host, NAMESPACE: namespace, PLUGIN: plugin, PORT: port } = process.env;
const ca = readFileSync(join(OWN, "ca.crt"), "utf8");

function fetchToken(): Promise<string> {
  const options = {
    method: "POST",
    ca,
    headers: {
      authorization: `Bearer ${readFileSync(join(OWN, "token"), "utf8")}`,
      "content-type": "application/json",
    },
  };
  const url = `https://${host}/api/v1/namespaces/${namespace}/serviceaccounts/${plugin}/token`;
  return new Promise((resolve, reject) => {
    const call = request(url, options, response => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => {
        if (response.statusCode !== 201) reject(new Error(`no credential for the plugin: ${response.statusCode}`));
        else resolve((JSON.parse(text) as { status: { token: string } }).status.token);
      });
    });
    call.on("error", reject);
    call.end(JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} }));
  });
}

function write(token: string): void {
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, "credential.json");
  writeFileSync(`${path}.new`, JSON.stringify({ server: `https://${host}`, ca, token }), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function start(): void {
  fetchToken().then(
    token => {
      write(token);
      console.log("wrote the plugin's credential");
      createServer((_, response) => response.end("ready\n")).listen(Number(port));
    },
    (error: unknown) => {
      console.error(error);
      setTimeout(start, RETRY_MS);
    },
  );
}

start();
