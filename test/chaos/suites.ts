import { bounds } from "./bounds";
import { crash } from "./crash";
import { faults } from "./faults";
import { fields } from "./fields";
import { frozen } from "./frozen";
import { lease } from "./lease";
import { scenarios } from "./scenarios";
import { shutdown } from "./shutdown";
import { stale } from "./stale";
import type { Suite } from "./suite";

/** The operator is killed at each of its writes; a suite for each scenario, so that several can be played at once. */
const crashes: readonly Suite[] = scenarios.map(({ name }) => crash({ scenario: [name] }));

/** What else `npm run chaos` injects. */
export const suites: readonly Suite[] = [faults(), fields(), lease, frozen, stale, shutdown, bounds];

/** In this order several at once end at about the same time: those that take longest come first. */
const LONGEST: readonly string[] = ["faults", "crash rollout", "crash stale-token", "fields", "crash token-admission"];

/** Everything there is, in the order in which it is to be begun. */
export function everything(): Suite[] {
  const rank = ({ name }: Suite): number => (LONGEST.includes(name) ? LONGEST.indexOf(name) : LONGEST.length);
  return [...crashes, ...suites].toSorted((a, b) => rank(a) - rank(b));
}
