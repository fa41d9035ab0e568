import { unwrap, objectIn } from "./unwrap";
import { parseRecord } from "./parse-record";
import { lowerCase } from "./text";

// A log shipper that prints what it ships adds metadata of the pod that wrote it. Such a record is that pod's.

/** The pod whose log is read. */
export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** A pod as a record's metadata names it. */
interface NamedPod extends Partial<PodName> {
  readonly name: string;
}

/** Whether a record carries the metadata of another pod than the one whose log it is in. Never throws. */
export function isFromOtherPod(record: string, pod: PodName): boolean {
  return podsIn(record).some(
    ({ namespace, name }) => name !== pod.name || (namespace !== undefined && namespace !== pod.namespace),
  );
}

function podsIn(record: string): NamedPod[] {
  const text = unwrap(record);
  const objects: unknown[] = [
    parseRecord(record).fields,
    // A shipper's record may look like the runtime's envelope.
    objectIn(record),
    // Fluent Bit's stdout output prints Ruby's hashes.
    objectIn(text.replaceAll('"=>', '":')),
  ];
  return [...objects.map(fieldsOf).flatMap(podOf), ...podsOfPaths(text)];
}

/** Levels of objects in shippers' records. */
const MAX_DEPTH = 6;

type Fields = ReadonlyMap<string, string>;

/** Returns the texts of an object by path. `kubernetes_pod_name` and `kubernetes.pod.name` are the same path. */
function fieldsOf(object: unknown): Fields {
  const found = new Map<string, string>();
  const collect = (value: unknown, path: string, depth: number): void => {
    if (typeof value === "string") found.set(path, value);
    else if (typeof value === "object" && value !== null && depth < MAX_DEPTH) {
      const entries = value instanceof Map ? [...(value as Fields)] : Object.entries(value);
      for (const [key, child] of entries) collect(child, `${path}.${lowerCase(key).replaceAll("_", ".")}`, depth + 1);
    }
  };
  collect(object, "", 0);
  return found;
}

function podOf(fields: Fields): NamedPod[] {
  const name = valueAt(fields, POD_NAMES);
  const namespace = valueAt(fields, NAMESPACES);
  return name === undefined ? [] : [{ name, ...(namespace === undefined ? {} : { namespace }) }];
}

/** Fluent Bit, fluentd, Vector, Filebeat, OpenTelemetry, Google Cloud. */
const POD_NAMES = [".kubernetes.pod.name", ".k8s.pod.name", ".resource.labels.pod.name"];
const NAMESPACES = [
  ".kubernetes.namespace.name",
  ".kubernetes.namespace",
  ".kubernetes.pod.namespace",
  ".k8s.namespace.name",
  ".resource.labels.namespace.name",
];

function valueAt(fields: Fields, ends: readonly string[]): string | undefined {
  for (const [path, value] of fields) if (ends.some(end => path.endsWith(end))) return value;
  return undefined;
}

/** `/var/log/pods/NAMESPACE_POD_UID/` and `/var/log/containers/POD_NAMESPACE_CONTAINER`; in tags with dots for slashes. */
function podsOfPaths(text: string): NamedPod[] {
  const ofPods = namesAfter(text, ["/var/log/pods/", "var.log.pods."]);
  const ofContainers = namesAfter(text, ["/var/log/containers/", "var.log.containers."]);
  return [
    ...ofPods.map(([namespace, name]) => ({ namespace, name })),
    ...ofContainers.map(([name, namespace]) => ({ namespace, name })),
  ];
}

function namesAfter(text: string, folders: readonly string[]): (readonly [string, string])[] {
  return folders.flatMap(folder => {
    const at = text.indexOf(folder);
    if (at < 0) return [];
    const [first = "", second = "", rest] = text
      .slice(at + folder.length, at + folder.length + LONGEST_PATH)
      .split("_", 3);
    // Other texts, such as /var/log/pods/*, name no pod.
    return rest !== undefined && NAME.test(first) && NAME.test(second) ? [[first, second] as const] : [];
  });
}

/** Longest namespace, name and the separators. */
const LONGEST_PATH = 63 + 253 + 3;

const NAME = /^[a-z0-9.-]+$/;
