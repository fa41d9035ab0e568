import { ForbiddenError } from "../../core/errors";

/** A read that failed. */
export interface Problem {
  /** The operator lacks a permission. */
  readonly forbidden: boolean;
  readonly message: string;
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
