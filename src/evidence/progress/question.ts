import type { LabelSelector } from "../../api/controller-resilience";
import { arrayOf, canonical, type JsonObject, objectOf } from "../../core/json";
import type { KindQuestion, Work } from "../../core/progress";
import { matchesSelector } from "../../core/views";
import { compileDue, type Due, DueError } from "./due";
import { BY_GENERATION, PAUSING_CONDITION, PAUSING_FIELDS, WELL_KNOWN, type WellKnownKind } from "./well-known";

/** An entry of `spec.stallDetection.progress`. */
export interface ProgressEntry {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly due?: string;
  readonly selector?: LabelSelector;
}

/**
 * Returns what an entry asks about its kind.
 *
 * @throws DueError if it does not say which kind is meant, or `due` does not compile; the message is a sentence without a period
 */
export function questionOf(entry: ProgressEntry): KindQuestion {
  const { kind, selector = {} } = entry;
  const row = wellKnown(entry);
  const apiVersion = entry.apiVersion ?? row?.apiVersion;
  if (apiVersion === undefined) throw new DueError(`kind ${kind} is not well known: expected an apiVersion`);
  const text = entry.due ?? row?.due ?? BY_GENERATION;
  const due = compiled(text, kind);
  return {
    ...{ apiVersion, kind, due: text, id: canonical([text, selector]) },
    selects: ({ labels }) => matchesSelector(labels, selector),
    workOf: object => workOf(object, due),
  };
}

function wellKnown({ apiVersion, kind }: ProgressEntry): WellKnownKind | undefined {
  const groupOf = (version: string): string => version.split("/").reverse()[1] ?? "";
  const isMeant = (row: WellKnownKind): boolean =>
    row.kind === kind && (apiVersion === undefined || groupOf(row.apiVersion) === groupOf(apiVersion));
  const rows = WELL_KNOWN.filter(isMeant);
  if (rows.length < 2) return rows[0];
  const choices = rows.map(row => row.apiVersion).join(" or ");
  throw new DueError(`several well-known kinds are named ${kind}: expected apiVersion ${choices}`);
}

/** Expressions that compile, since each pass asks again. Bounded: few are different. */
const known = new Map<string, Due>();
const MAX_KNOWN = 256;

function compiled(text: string, kind: string): Due {
  try {
    const due = known.get(text) ?? compileDue(text);
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(text, due);
    return due;
  } catch (error) {
    if (error instanceof DueError) throw new DueError(`due of ${kind} does not compile: ${error.message}`);
    throw error;
  }
}

function workOf(object: JsonObject, due: Due): Work {
  const [spec, status] = [objectOf(object["spec"]), objectOf(object["status"])];
  // Cluster API's v1beta1 has those of its next version beside its own.
  const conditions = [status, objectOf(status["v1beta2"])].flatMap(one => arrayOf(one["conditions"])).map(objectOf);
  const isHeld = conditions.some(({ type, status: is }) => type === PAUSING_CONDITION && is === "True");
  if (isHeld || PAUSING_FIELDS.some(field => spec[field] === true)) return "paused";
  try {
    return due.holds(object) ? "due" : "done";
  } catch (error) {
    if (error instanceof DueError) return "unknown";
    throw error;
  }
}
