import { type ASTNode, Environment, type ParseError } from "@marcbachmann/cel-js";
import type { StallDetectionSpec } from "../../api/controller-resilience";
import { describeError } from "../../core/errors";
import { arrayOf, canonical, isObject, type JsonObject, objectOf } from "../../core/json";
import type { KindQuestion } from "../../core/progress";
import { matchesSelector } from "../../core/views";
import { BY_GENERATION, PAUSING_CONDITION, PAUSING_FIELDS, WELL_KNOWN, type WellKnownKind } from "./well-known";

// What an entry of the spec asks about its kind: which objects are meant, and which of them are due.

/** An entry of `spec.stallDetection.progress`. */
export type ProgressEntry = NonNullable<StallDetectionSpec["progress"]>[number];

/**
 * Returns what an entry asks about its kind.
 *
 * @throws DueError if it does not say which kind is meant, or `due` does not compile; the message is a sentence without a period
 */
export function questionOf(entry: Omit<ProgressEntry, "for">): KindQuestion {
  const { kind, selector = {} } = entry;
  const row = wellKnown(entry);
  const apiVersion = entry.apiVersion ?? row?.apiVersion;
  if (apiVersion === undefined) throw new DueError(`kind ${kind} is not well known: expected an apiVersion`);
  const text = entry.due ?? row?.due ?? BY_GENERATION;
  const due = compileDue(text, kind);
  return {
    ...{ apiVersion, kind, due: text, id: canonical([text, selector]) },
    selects: ({ labels }) => matchesSelector(labels, selector),
    workOf: object => (isPaused(object) ? "paused" : due(object)),
  };
}

function wellKnown({ apiVersion, kind }: Pick<ProgressEntry, "apiVersion" | "kind">): WellKnownKind | undefined {
  const groupOf = (version: string): string => version.split("/").reverse()[1] ?? "";
  const named = WELL_KNOWN.filter(row => row.kind === kind);
  const rows = named.filter(row => groupOf(row.apiVersion) === groupOf(apiVersion ?? row.apiVersion));
  if (rows.length < 2) return rows[0];
  const choices = rows.map(row => row.apiVersion).join(" or ");
  throw new DueError(`several well-known kinds are named ${kind}: expected apiVersion ${choices}`);
}

function isPaused(object: JsonObject): boolean {
  const [spec, status] = [objectOf(object["spec"]), objectOf(object["status"])];
  // Cluster API's v1beta1 has those of its next version beside its own.
  const conditions = [status, objectOf(status["v1beta2"])].flatMap(one => arrayOf(one["conditions"])).map(objectOf);
  const isHeld = conditions.some(({ type, status: is }) => type === PAUSING_CONDITION && is === "True");
  return isHeld || PAUSING_FIELDS.some(field => spec[field] === true);
}

// Evaluates `due`: CEL over `object`. Other people write expressions and objects, so what an evaluation costs is bounded: by the functions that
// are known, by how deep macros are nested, and by how much of an object is read.

/** Longest expression, as in the schema. */
const MAX_LENGTH = 1024;

/** Fields and items of an object that one evaluation reads. A string counts once more for each {@link TEXT} characters. */
const MAX_READS = 10_000;
const TEXT = 64;

const MACROS = new Set(["all", "exists", "exists_one", "filter", "map"]);

/** Each takes time in proportion to what it reads. Regular expressions may take far more, and so may what makes texts and lists longer. */
const FUNCTIONS = new Set([
  ...MACROS,
  ...["has", "size", "contains", "startsWith", "endsWith", "orValue"],
  ...["timestamp", "duration", "int", "double", "string", "bool"],
]);

const ENVIRONMENT = new Environment({
  homogeneousAggregateLiterals: false,
  enableOptionalTypes: true,
  limits: { maxAstNodes: 250, maxDepth: 50 },
}).registerVariable("object", "dyn");

/** An entry of the spec, or an object, is not as expected. The message is a part of a sentence. */
export class DueError extends Error {}

/**
 * Returns what answers for an object: unknown where the expression does not fit it, such as where it lacks a field, or it is too large.
 *
 * @throws DueError if the expression does not compile, or could take too long
 */
export function compileDue(text: string, kind: string): KindQuestion["workOf"] {
  const program = parsed(text, kind);
  return object => {
    try {
      const answer: unknown = program({ object: new Reads().of(object) });
      return answer === true ? "due" : answer === false ? "done" : "unknown";
    } catch {
      return "unknown";
    }
  };
}

function parsed(text: string, kind: string) {
  try {
    if (text.length > MAX_LENGTH) throw new DueError(`expected at most ${MAX_LENGTH} characters, got ${text.length}`);
    const program = ENVIRONMENT.parse(text);
    checkCost(program.ast, false);
    const { valid, type = "dyn", error } = program.check();
    if (!valid) throw error ?? new DueError("invalid");
    if (type !== "bool" && type !== "dyn") throw new DueError(`expected true or false, got a value of type ${type}`);
    return program;
  } catch (error) {
    // The errors of the library have a summary of one line, and a position.
    const { summary = describeError(error), range } = error as Partial<ParseError>;
    const at = range === undefined ? "" : ` at character ${range.start + 1}`;
    throw new DueError(`due of ${kind} does not compile: ${summary}${at}`, { cause: error });
  }
}

/**
 * Refuses what could take long: a function that is not known, and a macro inside of another unless both go through fields of the object, which
 * are counted when they are read.
 *
 * @throws DueError
 */
function checkCost(node: ASTNode, isInMacro: boolean): { readonly hasMacro: boolean } {
  const [name = "", operands] = partsOf(node);
  const at = `at character ${node.start + 1}`;
  if (name !== "" && !FUNCTIONS.has(name)) throw new DueError(`unknown function ${name} ${at}`);
  const isMacro = MACROS.has(name);
  const found = operands.map((operand, i) => checkCost(operand, isInMacro || (isMacro && i > 0)));
  const isNested = isInMacro || found.slice(1).some(({ hasMacro }) => hasMacro);
  if (isMacro && isNested && !isPath(operands[0]))
    throw new DueError(`expected macros inside of each other to go through fields of object ${at}`);
  return { hasMacro: isMacro || found.some(({ hasMacro }) => hasMacro) };
}

/** The function that a node calls, and its operands: the receiver first. */
function partsOf({ op, args }: ASTNode): readonly [string | undefined, readonly ASTNode[]] {
  if (op === "call") return [args[0], args[1]];
  if (op === "rcall") return [args[0], [args[1], ...args[2]]];
  return [undefined, [args].flat(2).filter(isNode)];
}

function isNode(value: unknown): value is ASTNode {
  return isObject(value) && "op" in value && "args" in value;
}

/** A variable, or a field of one. */
function isPath(node: ASTNode | undefined): boolean {
  return node?.op === "id" || ((node?.op === "." || node?.op === ".?") && isPath(node.args[0]));
}

/** Shows an object to CEL, and counts what is read of it. Whole numbers become CEL's, which distinguishes them from others. */
class Reads {
  #left = MAX_READS;

  of(value: unknown): unknown {
    if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : value;
    if (typeof value === "string") this.#count(value.length / TEXT);
    if (typeof value !== "object" || value === null) return value;
    return new Proxy(value, {
      get: (target, key) => {
        this.#count(1);
        const found: unknown = Reflect.get(target, key);
        return Object.hasOwn(target, key) && !(Array.isArray(target) && key === "length") ? this.of(found) : found;
      },
      ownKeys: target => {
        const keys = Reflect.ownKeys(target);
        this.#count(keys.length);
        return keys;
      },
    });
  }

  #count(reads: number): void {
    this.#left -= reads;
    if (this.#left < 0) throw new DueError("the object is too large for the expression");
  }
}
