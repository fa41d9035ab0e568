/** The most test files of one suite that run at the same time. */
export const MOST_WORKERS = 3;
