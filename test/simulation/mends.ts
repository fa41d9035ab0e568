import type { Mutation } from "./mutations";

// Defects that were found and mended (CHANGELOG.md), each brought back by the smallest edit.

/** All of them. */
export const MENDS: readonly Mutation[] = [];
