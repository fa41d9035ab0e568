import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import type { ControllerResilience, ObjectMetadata } from "../../../api/controller-resilience";
import { CLUSTER_KIND, KIND } from "../../../api/names";
import { isObject, type JsonObject, objectOf, textOf } from "../../../core/json";
import { apiVersionOf, KINDS } from "../../../core/kinds";
import { toSeconds } from "../../../core/time";
import { checkSpec, readYaml, schemaOf } from "../../schema/check";
import { CliError } from "../../streams";
import { type Io, safeText } from "../terminal";

/** An object of a file, with every default of its schema. Its metadata are only what the file says. */
export type FileObject =
  | { readonly kind: typeof KIND; readonly object: ControllerResilience }
  | { readonly kind: typeof CLUSTER_KIND; readonly object: ClusterControllerResilience };

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** Where the objects of a file go that do not say it. */
interface DefaultPlace {
  readonly namespace: string;
  /** `-n` was given, so another namespace in the file is an error, as for kubectl. */
  readonly isNamespaceChosen: boolean;
}

/** Reads a file, or standard input for `-`. @throws CliError */
export async function readText(file: string, { stdin }: Pick<Io, "stdin">): Promise<string> {
  try {
    return file === "-" ? await text(stdin) : await readFile(file, "utf8");
  } catch (error) {
    throw new CliError(`failed to read ${file}: ${(error as NodeJS.ErrnoException).code ?? "unknown error"}`);
  }
}

/** Returns the objects of a YAML or JSON text. @throws CliError with every error, one sentence per line */
export function parseObjects(yaml: string, file: string, place: DefaultPlace): FileObject[] {
  const errors: string[] = [];
  const objects: FileObject[] = [];
  for (const value of readYaml(yaml, file)) {
    if (!isObject(value)) {
      const got = Array.isArray(value) ? "a list" : "a single value";
      throw new CliError(`${file}: expected an object with apiVersion and kind, got ${got}`);
    }
    for (const raw of itemsOf(value)) {
      const found = checkObject(raw, place);
      if (Array.isArray(found)) errors.push(...found.map(sentence => `${file}: ${safeText(sentence, 600)}`));
      else objects.push(found);
    }
  }
  if (errors.length > 0) throw new CliError(errors.join("\n"));
  if (objects.length === 0) throw new CliError(`${file}: expected a ${KIND} or a ${CLUSTER_KIND}, got an empty file`);
  return objects;
}

/** A List has objects as items. */
function itemsOf(raw: JsonObject): JsonObject[] {
  return raw["kind"] === "List" && Array.isArray(raw["items"]) ? raw["items"].map(objectOf) : [raw];
}

/** Fills in the defaults, or returns what is wrong. */
function checkObject(raw: JsonObject, place: DefaultPlace): FileObject | string[] {
  const { kind, apiVersion } = raw;
  const expected = apiVersionOf(KINDS[KIND]);
  if (kind !== KIND && kind !== CLUSTER_KIND)
    return [`expected kind ${KIND} or ${CLUSTER_KIND}, got ${JSON.stringify(kind)}`];
  if (apiVersion !== expected) return [`${kind}: expected apiVersion ${expected}, got ${JSON.stringify(apiVersion)}`];
  const name = textOf(objectOf(raw["metadata"])["name"]);
  if (name === undefined || !NAME.test(name))
    return [`${kind}: metadata.name: expected a name such as web-1, got ${JSON.stringify(name)}`];
  const object = withoutNulls(raw) as JsonObject;
  const errors = checkSpec(object, schemaOf(kind), "").map(
    error => `${kind} ${name}: ${error.replace(/^(\.|: )/, "")}`,
  );
  if (errors.length > 0) return errors;
  if (kind === CLUSTER_KIND) return { kind, object: object as unknown as ClusterControllerResilience };
  const namespace = namespaceOf(object, place);
  if (namespace === undefined)
    return [`${kind} ${name}: expected the namespace of -n, ${place.namespace}, got another`];
  const metadata = { ...objectOf(object["metadata"]), namespace };
  return { kind, object: { ...object, metadata } as unknown as ControllerResilience };
}

function namespaceOf(object: JsonObject, { namespace, isNamespaceChosen }: DefaultPlace): string | undefined {
  const own = textOf(objectOf(object["metadata"])["namespace"]);
  if (own === undefined || own === "") return namespace;
  return isNamespaceChosen && own !== namespace ? undefined : own;
}

/** The API server replaces null by the default. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]));
}

/** No object has this uid, so nothing in the cluster belongs to an object that does not exist yet. */
const NO_UID = "00000000-0000-0000-0000-000000000000";

/** Returns an object of a file as the API server would hold it: with the identity and status of the present one, if there is one. */
export function asApplied<T extends ControllerResilience | ClusterControllerResilience>(
  file: T,
  live: T | undefined,
  now: Date,
): T {
  const { name, namespace, labels, annotations } = file.metadata as ObjectMetadata;
  const fresh = { uid: NO_UID, resourceVersion: "0", generation: 0, creationTimestamp: toSeconds(now) };
  const { status, metadata } = live ?? {};
  const said = {
    ...{ name, ...(namespace && { namespace }) },
    ...{ labels: { ...metadata?.labels, ...labels }, annotations: { ...metadata?.annotations, ...annotations } },
  };
  return {
    apiVersion: file.apiVersion,
    kind: file.kind,
    metadata: { ...fresh, ...metadata, ...said },
    spec: file.spec,
    ...(status && { status }),
  } as unknown as T;
}
