import { readFileSync } from "node:fs";
import { join } from "node:path";
import { format, resolveConfig } from "prettier";
import { CLUSTER_CRD_FILE, CRD_FILE } from "./api-types";

/** Fields of a ControllerResilience's spec that the operator sets itself in the objects that it generates. */
const GENERATED: ReadonlySet<string> = new Set(["mode", "suspend", "targets"]);

const FIELD_INDENT = " ".repeat(16);
const DEEPER = " ".repeat(4);

/** Returns the definition of ClusterControllerResilience with the blocks of {@link CRD_FILE} in its template. */
export async function clusterCrd(root: string): Promise<string> {
  const text = readFileSync(join(root, CLUSTER_CRD_FILE), "utf8");
  const found = /^( *# BEGIN .*\n)[^]*?^( *# END$)/m.exec(text);
  if (found === null) throw new Error(`${CLUSTER_CRD_FILE}: expected the comments BEGIN and END in spec.template`);
  const [whole, begin = "", end = ""] = found;
  const filled = text.replace(whole, () => `${begin}${blocks(readFileSync(join(root, CRD_FILE), "utf8"))}${end}`);
  // Lines that are indented more are broken elsewhere.
  const path = join(root, CLUSTER_CRD_FILE);
  return format(filled, { ...(await resolveConfig(path)), filepath: path });
}

/** The lines of each field of spec that a template has, indented for it. */
function blocks(text: string): string {
  const lines = text.split("\n");
  const start = lines.indexOf(`${FIELD_INDENT}mode:`);
  const end = lines.findIndex((line, index) => index > start && /^ {0,15}\S/.test(line));
  let isWanted = false;
  const copied = lines.slice(start, end).filter(line => {
    const name = /^ {16}(\w+):/.exec(line)?.[1];
    if (name !== undefined) isWanted = !GENERATED.has(name);
    return isWanted;
  });
  return copied.map(line => (line === "" ? "\n" : `${DEEPER}${line}\n`)).join("");
}
