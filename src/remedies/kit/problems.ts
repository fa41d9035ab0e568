import { ForbiddenError, publicMessage, TransientError } from "../../core/errors";

/** A read that failed. */
export interface Problem {
  /** The operator lacks a permission. */
  readonly forbidden: boolean;
  readonly message: string;
  /** Only a person can change it. */
  readonly isLasting?: boolean;
}

/** Returns undefined and adds a problem when the read is forbidden. */
export async function unlessForbidden<T>(read: () => Promise<T>, problems: Problem[]): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    if (!problems.some(problem => problem.message === error.message))
      problems.push({ forbidden: true, message: error.message });
    return undefined;
  }
}

/** Returns undefined and adds a problem when the read fails for now as well, since other evidence does not depend on it. */
export async function unlessUnreadable<T>(read: () => Promise<T>, problems: Problem[]): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    const forbidden = error instanceof ForbiddenError;
    if (!forbidden && !(error instanceof TransientError)) throw error;
    problems.push({ forbidden, message: publicMessage(error) });
    return undefined;
  }
}
