import type { DemoCluster } from "./cluster";
import type { DemoOperator } from "./operator";
import type { Timeline } from "./timeline";

/** What is played on one cluster, and shown on one timeline. */
export interface Play {
  /** Creates the preconditions. */
  prepare(): Promise<void>;
  /** What happens. Returns the sentence that it ends with; throws if it was not seen as it should be. */
  play(): Promise<string>;
  /** What a user sees with kubectl afterwards. */
  show(): Promise<void>;
  /** Takes away what it made, however far it came. */
  cleanUp(): Promise<void>;
}

/** Something that `npm run demo` can show. */
export interface Scenario {
  readonly name: string;
  /** One line for `--help`. */
  readonly about: string;
  start(cluster: DemoCluster, timeline: Timeline, operator: DemoOperator): Play;
}
