import { ForbiddenError, type Problem, problemOf, TransientError } from "../../core/errors";

/** Returns undefined and adds a problem when the read is forbidden. */
export async function unlessForbidden<T>(read: () => Promise<T>, problems: Problem[]): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    if (!problems.some(problem => problem.message === error.message)) problems.push(problemOf(error));
    return undefined;
  }
}

/** Returns undefined and adds a problem when the read fails for now as well, since other evidence does not depend on it. */
export async function unlessUnreadable<T>(read: () => Promise<T>, problems: Problem[]): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ForbiddenError || error instanceof TransientError)) throw error;
    problems.push(problemOf(error));
    return undefined;
  }
}
