import { describe, expect, it } from "vitest";
import { isFromOtherPod } from "./other-pod";

const OWN = { namespace: "logging", name: "shipper-4x7kd" };
const LINE = "E1104 07:21:09.114233       1 reflector.go:147] failed to list *v1.Pod: Unauthorized";
const TIME = "2025-11-04T07:21:09.114233871Z";
const UID = "4c1f6a52-0d1b-4d8e-9a3c-2f60b5d7c9ab";
const ID = "9f".repeat(32);

interface Pod {
  readonly namespace: string;
  readonly name: string;
}

const json = (value: unknown): string => JSON.stringify(value);

/** What shippers print for a line of a pod. */
const SHIPPED: Readonly<Record<string, (pod: Pod) => string>> = {
  "Fluent Bit as JSON": ({ namespace, name }) =>
    json({
      log: LINE,
      stream: "stderr",
      kubernetes: { pod_name: name, namespace_name: namespace, container_name: "main" },
    }),
  "Fluent Bit's stdout output": ({ namespace, name }) =>
    `[0] kube.var.log.containers.${name}_${namespace}_main-${ID}.log: [[1762240869.114233871, {}], {"stream"=>"stderr", "log"=>"${LINE}", "kubernetes"=>{"pod_name"=>"${name}", "namespace_name"=>"${namespace}"}}]`,
  "Fluent Bit's stdout output without the filter": ({ namespace, name }) =>
    `[12] kube.var.log.containers.${name}_${namespace}_main-${ID}.log: [1762240869.114, {"log"=>"${LINE}", "time"=>nil}]`,
  "fluentd's stdout output": ({ namespace, name }) =>
    `2025-11-04 07:21:09.114233871 +0000 kubernetes.var.log.containers.${name}_${namespace}_main-${ID}.log: ${json({ stream: "stderr", log: LINE, kubernetes: { container_name: "main", namespace_name: namespace, pod_name: name } })}`,
  Vector: ({ namespace, name }) =>
    json({
      file: `/var/log/pods/${namespace}_${name}_${UID}/main/0.log`,
      kubernetes: { pod_name: name, pod_namespace: namespace, pod_uid: UID },
      message: LINE,
      source_type: "kubernetes_logs",
      stream: "stderr",
    }),
  "Vector's logfmt": ({ namespace, name }) =>
    `kubernetes.pod_name=${name} kubernetes.pod_namespace=${namespace} message=${json(LINE)} stream=stderr`,
  Promtail: ({ namespace, name }) =>
    `${TIME}  {container="main", filename="/var/log/pods/${namespace}_${name}_${UID}/main/0.log", namespace="${namespace}", pod="${name}"}  ${LINE}`,
  Filebeat: ({ namespace, name }) =>
    json({ "@timestamp": TIME, message: LINE, kubernetes: { namespace, pod: { name, uid: UID } } }),
  "Filebeat with flat keys": ({ namespace, name }) =>
    json({ message: LINE, "kubernetes.namespace": namespace, "kubernetes.pod.name": name }),
  "OpenTelemetry attributes": ({ namespace, name }) =>
    json({
      body: LINE,
      severity: "ERROR",
      resource: { attributes: { "k8s.namespace.name": namespace, "k8s.pod.name": name } },
    }),
  "Google Cloud's entries": ({ namespace, name }) =>
    json({
      textPayload: LINE,
      resource: { type: "k8s_container", labels: { namespace_name: namespace, pod_name: name } },
    }),
};

const ENVELOPES: Readonly<Record<string, (record: string) => string>> = {
  bare: record => record,
  "with a timestamp": record => `${TIME} ${record}`,
  "from Docker": record => json({ log: `${record}\n`, stream: "stdout", time: TIME }),
};

describe.each(Object.entries(SHIPPED))("%s", (_, ship) => {
  it.each(Object.entries(ENVELOPES))("%s", (__, wrap) => {
    const isOther = (pod: Pod): boolean => isFromOtherPod(wrap(ship(pod)), OWN);
    expect(isOther({ namespace: "shop", name: "web-1" })).toBe(true);
    expect(isOther({ namespace: "shop", name: OWN.name })).toBe(true);
    expect(isOther(OWN)).toBe(false);
  });
});

const OWN_RECORDS: readonly string[] = [
  LINE,
  `time="2025-11-04T07:21:09Z" level=error msg="sync failed" pod=web-1 namespace=shop error=Unauthorized`,
  json({ level: "error", msg: "Reconciler error", pod: { name: "web-1", namespace: "shop" }, error: "Unauthorized" }),
  json({ level: "error", msg: "sync failed", pod_name: "web-1", error: "Unauthorized" }),
  `[2025/11/04 07:21:09] [ warn] [filter:kubernetes:kubernetes.0] could not get meta for POD web-1, HTTP status: 401`,
  `level=error msg="cannot list pods for /var/log/pods/*/*/*.log: Unauthorized"`,
  "",
];

it.each(OWN_RECORDS)("the container's own record %s", record => {
  expect(isFromOtherPod(record, OWN)).toBe(false);
});
