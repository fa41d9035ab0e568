import { framesOf, publicMessage } from "../../core/errors";
import type { Log } from "../../core/ports";

/** Starts Pepr, once. Without it changes are seen late or never, and it is not tried again: where it can't start, the process is to end, and be seen to. */
export function startFrameworkOr(stop: () => void, startFramework: () => void, log: Log): void {
  try {
    startFramework();
  } catch (error) {
    log.error({ error: publicMessage(error), stack: framesOf(error) }, "Pepr could not start");
    stop();
  }
}
