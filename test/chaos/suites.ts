import { badDay } from "./bad-day";
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

/** Kills the operator at each of its writes. One suite per scenario, so that several can run at the same time. */
const crashes: readonly Suite[] = scenarios.map(({ name }) => crash({ scenario: [name] }));

/** The other suites of `npm run chaos`. */
export const suites: readonly Suite[] = [faults(), fields(), lease, frozen, stale, shutdown, badDay(), bounds];

/** The longest suites first, so that concurrent jobs end at about the same time. */
const LONGEST: readonly string[] = ["bad-day", "faults", "crash stale-token", "fields"];

/** All suites, in the order in which they start. */
export function everything(): Suite[] {
  const rank = ({ name }: Suite): number => (LONGEST.includes(name) ? LONGEST.indexOf(name) : LONGEST.length);
  return [...crashes, ...suites].toSorted((a, b) => rank(a) - rank(b));
}
