import {
  ForbiddenError,
  framesOf,
  ResilienceError,
  TransientError,
  UnauthorizedError,
  WaitError,
} from "../../core/errors";
import { CliError } from "./io";

/** What of the surroundings a message names. */
export interface Surroundings {
  readonly version: string;
  /** Address of the API server; absent if there is none yet. */
  readonly server?: string;
}

/** Describes an error in one sentence for the user. Text of unexpected errors may quote data, so only their place is named. */
export function describeFailure(error: unknown, { version, server }: Surroundings): string {
  if (error instanceof CliError) return error.message;
  if (error instanceof UnauthorizedError)
    return `${server ?? "the API server"} does not accept your credentials (401): log in again, or choose another --context`;
  if (error instanceof ForbiddenError)
    return `${error.message}; ask for this right, or choose another --context or --as`;
  if (isUnreachable(error))
    return `cannot reach ${server ?? "the API server"}: ${error.message}; check the network and --context`;
  if (error instanceof ResilienceError) return error.message;
  const name = error instanceof Error ? error.name : "error";
  return `unexpected ${name} ${framesOf(error)[0] ?? ""}: this is a bug of kubectl-resilience ${version}, please report it`;
}

function isUnreachable(error: unknown): error is TransientError {
  return error instanceof TransientError && !(error instanceof WaitError) && error.cause !== undefined;
}
