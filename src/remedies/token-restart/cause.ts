import { Cause } from "../../api/conditions";

/** Why this remedy restarts a pod. */
export type TokenCause = Exclude<Cause, "TokenTooLong" | "LeaseNotRenewed">;

/** All causes of this remedy: it settles the restarts in status with these causes. */
export const TOKEN_CAUSES: readonly Cause[] = Object.values(Cause).filter(
  cause => cause !== Cause.TokenTooLong && cause !== Cause.LeaseNotRenewed,
);
