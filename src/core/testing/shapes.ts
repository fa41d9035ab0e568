import { setFlagsFromString } from "node:v8";
import { runInThisContext } from "node:vm";

/** V8 gives the first objects of a literal one shape in any case. */
const MANY = 100;

/**
 * Reports whether V8 keeps the objects that a function makes in one shape: one of its own takes an object more memory than its fields, and a literal
 * with several spreads has that.
 */
export function haveOneShape(make: () => object): boolean {
  setFlagsFromString("--allow-natives-syntax");
  const isSame = runInThisContext("(a, b) => %HaveSameMap(a, b)") as (a: object, b: object) => boolean;
  const first = make();
  return Array.from({ length: MANY }, make).every(one => isSame(one, first));
}
