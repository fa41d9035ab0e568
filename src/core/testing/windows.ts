import fc from "fast-check";
import type { MaintenanceWindow } from "../windows";

/** A window that never opens. */
export const NEVER: MaintenanceWindow = { schedule: "0 2 31 2 *", duration: "3h", timeZone: "UTC" };

/** Windows that are often closed, some of them for ever. */
export const anyWindows: fc.Arbitrary<readonly MaintenanceWindow[]> = fc.oneof(
  { weight: 2, arbitrary: fc.constant([]) },
  fc.array(
    fc.record({
      schedule: fc.constantFrom("0 2 * * 6", "30 2 * * *", "*/20 * * * *", NEVER.schedule),
      duration: fc.constantFrom("10m", "3h", "168h"),
      timeZone: fc.constantFrom("UTC", "Europe/Berlin", "Pacific/Kiritimati"),
    }),
    { minLength: 1, maxLength: 2 },
  ),
);
