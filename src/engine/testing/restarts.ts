import type { Clock } from "../../core/clock";
import type { Key } from "../../core/ports";
import { Restarts } from "../restarts/restarts";

/** The restarts of a leader that starts now and has loaded every object, or has these objects still to load. */
export function makeRestarts(
  clock: Clock,
  intervalMs?: number,
  { missing = [], requestPass = () => undefined }: { missing?: Key[]; requestPass?: (key: Key) => void } = {},
): Restarts {
  const restarts = new Restarts({ clock, requestPass }, intervalMs);
  restarts.expect(missing);
  return restarts;
}
