import { readFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "prettier";
import { isMap, isScalar, type Node, type Pair, parseDocument } from "yaml";

const VALUES = "deploy/chart/values.yaml";
const SCHEMA = "deploy/chart/values.schema.json";

const HEAD = `<!-- Made from the comments of values.yaml by "npm run generate". Do not edit. -->

# Helm chart of controller-resilience

Installs the operator, its CustomResourceDefinitions, its rights and an admission policy:
[how to install](../../docs/install.md), [what each right is for](../../docs/security.md). A cluster
has one operator.

## Values

Type and default in brackets; an invalid value is refused by name.
`;

/** The part of a JSON schema that is read here. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly definitions?: Readonly<Record<string, Schema>>;
}

/** A value of the chart. */
export interface ChartValue {
  /** Such as `image.repository`. */
  readonly path: string;
  /** With its choices or its range; "" if the schema does not know it. */
  readonly type: string;
  /** As JSON. */
  readonly fallback: string;
  /** From the comment above it; "" if there is none. */
  readonly about: string;
}

/** deploy/chart/README.md: a list of all values. */
export function chartReadme(root: string): { path: string; from: string; text: () => Promise<string> } {
  const text = (): Promise<string> => {
    const entries = chartValues(root).map(
      ({ path, type, fallback, about }) => `- \`${path}\` (${type}; \`${fallback}\`): ${about}`,
    );
    return format(`${HEAD}\n${entries.join("\n")}\n`, { parser: "markdown", proseWrap: "always", printWidth: 100 });
  };
  return { path: "deploy/chart/README.md", from: VALUES, text };
}

/** All values of the chart, in the order of values.yaml. A map is one value where its schema names no keys. */
export function chartValues(root: string): ChartValue[] {
  const schema = JSON.parse(readFileSync(join(root, SCHEMA), "utf8")) as Schema;
  const resolved = (part: Schema = {}): Schema =>
    part.$ref === undefined ? part : (schema.definitions?.[part.$ref.split("/").at(-1) ?? ""] ?? {});
  const rows = (map: Node | null, of: Schema, place: readonly string[], inherited: string): ChartValue[] => {
    if (!isMap<Node, Node | null>(map)) return [];
    return map.items.flatMap((pair, index) => {
      const name = nameOf(pair);
      const part = resolved(of.properties?.[name]);
      // The parser gives the comment above the first key to the map.
      const comment = commentOf(pair.key) || (index === 0 ? commentOf(map) : "");
      const path = [...place, name];
      if (part.properties !== undefined) return rows(pair.value, part, path, comment);
      const about = comment || (name === "enabled" || map.items.length === 1 ? inherited : "");
      return [{ path: path.join("."), type: typeOf(part), fallback: JSON.stringify(pair.value), about: told(about) }];
    });
  };
  return rows(parseDocument(readFileSync(join(root, VALUES), "utf8")).contents, schema, [], "");
}

function nameOf({ key }: Pair<Node, Node | null>): string {
  return isScalar(key) ? String(key.value) : "";
}

/** The comment right above a node, without one that an empty line sets off. */
function commentOf(node: Node): string {
  return node.commentBefore?.split("\n\n").at(-1) ?? "";
}

function typeOf({ type = "", enum: choices, minimum, maximum }: Schema): string {
  if (choices !== undefined) return choices.map(choice => `\`${choice}\``).join(", ");
  return minimum === undefined || maximum === undefined ? type : `${type}, ${minimum} to ${maximum}`;
}

/** The text of a comment, with links to pages; indented lines of it are examples. */
function told(comment: string): string {
  const lines = comment.split("\n").filter(line => line.trim() !== "");
  const examples = lines.filter(line => line.startsWith("   ")).map(line => `\`${line.trim()}\``);
  const text = lines.filter(line => !line.startsWith("   ")).map(line => line.trim());
  return [...text, ...(examples.length === 0 ? [] : [`Example: ${examples.join(", ")}`])]
    .join(" ")
    .replaceAll(/\bdocs\/[\w/-]+\.md\b/g, page => `[${page}](../../${page})`);
}
