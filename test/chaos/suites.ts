import { bounds } from "./bounds";
import { crash } from "./crash";
import { processes } from "./process";
import { scenarios } from "./scenarios";
import type { Suite } from "./suite";

/** Kills the operator at each of its writes. One suite per scenario, so that several can run at the same time. */
const crashes: readonly Suite[] = scenarios.map(({ name }) => crash({ scenario: [name] }));

/** The other suites of `npm run chaos`. */
export const suites: readonly Suite[] = [processes, bounds];

/** All suites, in the order in which they start. */
export const everything: readonly Suite[] = [...crashes, ...suites];
