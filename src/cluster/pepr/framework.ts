import { framesOf, publicMessage } from "../../core/errors";
import type { Log } from "../../core/ports";

/** Starts Pepr. If that fails, the process has to stop: without Pepr the operator sees changes late or never. */
export function startFrameworkOr(stop: () => void, startFramework: () => void, log: Log): void {
  try {
    startFramework();
  } catch (error) {
    log.error({ error: publicMessage(error), stack: framesOf(error) }, "failed to start Pepr");
    stop();
  }
}
