// Sends one request as a client in a pod does, with the mounted credentials; prints the status of the answer.
import { readFileSync } from "node:fs";
import { get } from "node:https";

const read = (name: string): string => readFileSync(`/var/run/secrets/kubernetes.io/serviceaccount/${name}`, "utf8");

const request = get(
  {
    host: process.env["KUBERNETES_SERVICE_HOST"],
    port: process.env["KUBERNETES_SERVICE_PORT"],
    path: `/api/v1/namespaces/${read("namespace")}/configmaps`,
    ca: read("ca.crt"),
    headers: { authorization: `Bearer ${read("token").trim()}` },
  },
  answer => {
    answer.resume();
    console.log(answer.statusCode);
  },
);
request.on("error", error => {
  console.error(error.message);
  process.exitCode = 1;
});
