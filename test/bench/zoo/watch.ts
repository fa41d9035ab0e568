import type { StatusCondition } from "../../../src/api/controller-resilience";
import type { ClusterClient } from "../../cluster/client";
import type { Animal } from "./animals";
import type { View } from "./view";

/** What has not been found by then is not found. A program that loses its Lease several times needs the longest. */
const LIMIT_MS = 600_000;

/** What stallDetection said of one program. */
export interface Row {
  readonly text: string;
  /** An innocent that is accused, or a victim that is not found. */
  readonly isWrong: boolean;
}

/** Lets a program stall, or what looks like it, and returns what was found and after how long. */
export async function watch(animal: Animal, client: ClusterClient, view: View): Promise<Row> {
  const { program, death, evidence, found, name } = animal;
  let failure: string | undefined;
  const [result] = await Promise.all([
    found === undefined ? accusation(name, view, LIMIT_MS) : findOut(name, found, view),
    death.come({ client, program, name }).catch((error: unknown) => (failure = String(error))),
  ]);
  if (failure !== undefined) return { text: `| ${program} | ${death.what} | | ${name}: ${failure} |`, isWrong: true };
  const shown = evidence.map(one => `\`${one}\``).join(", ");
  return rowOf(`${program} | ${death.what} | ${shown}`, result, found === undefined);
}

/** Returns a row for programs that must not be accused; `result` is undefined if none was. */
export function rowOf(head: string, result: string | undefined, isInnocent: boolean): Row {
  const isWrong = isInnocent ? result !== undefined : result === undefined;
  const said = result ?? (isInnocent ? "none, as it should" : "NOT FOUND");
  return { text: `| ${head} | ${isInnocent && isWrong ? `FALSE ACCUSATION ${said}` : said} |`, isWrong };
}

/** Returns the first accusation against a program, and undefined if there is none for so long. */
export async function accusation(name: string, view: View, limitMs: number): Promise<string | undefined> {
  const seen = await look(name, view, limitMs, () => true);
  return seen && `${name} after ${seen.seconds} s: ${seen.message}`;
}

/** Returns the seconds until the message names the cause. */
async function findOut(name: string, found: RegExp, view: View): Promise<string | undefined> {
  const seen = await look(name, view, LIMIT_MS, message => found.test(message));
  return seen && `${seen.seconds}${sinceFirst(seen.message)}`;
}

async function look(
  name: string,
  view: View,
  limitMs: number,
  isSought: (message: string) => boolean,
): Promise<{ seconds: number; message: string } | undefined> {
  const beganMs = performance.now();
  const isAccusation = ({ status, message }: StatusCondition): boolean => status === "False" && isSought(message);
  const seen = await view.condition(name, isAccusation, limitMs);
  return seen && { seconds: Math.round((performance.now() - beganMs) / 1_000), message: seen.message };
}

/** Seconds from the first 401, which the message names. */
function sinceFirst(message: string): string {
  const [, since] = /401 responses since (\S+?Z)/.exec(message) ?? [];
  if (since === undefined) return "";
  return ` (${Math.round((Date.now() - Date.parse(since)) / 1_000)} after the first 401)`;
}
