import type { DemoCluster } from "./cluster";
import type { DemoOperator } from "./operator";
import type { Timeline } from "./timeline";

/** A scenario on one cluster, printed on one timeline. */
export interface Play {
  /** Creates the preconditions. */
  prepare(): Promise<void>;
  /** Runs the scenario. Returns its closing sentence; throws if an expected step was not seen. */
  play(): Promise<string>;
  /** Prints what a user sees with kubectl afterwards. */
  show(): Promise<void>;
  /** Deletes what the scenario created, also after a failure. */
  cleanUp(): Promise<void>;
}

/** A failure that `npm run demo` can show. */
export interface Scenario {
  readonly name: string;
  /** One line for `--help`. */
  readonly about: string;
  start(cluster: DemoCluster, timeline: Timeline, operator: DemoOperator): Play;
}
