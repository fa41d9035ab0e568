import type { Steps } from "../../core/slices";

/** Appends the views of these items to `views`, one per step, without invalid ones. */
export function* projectAll<V>(items: readonly unknown[], project: (item: unknown) => V | null, views: V[]): Steps {
  for (const item of items) {
    const view = project(item);
    if (view !== null) views.push(view);
    yield;
  }
}
