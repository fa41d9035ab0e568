import type { Steps } from "../../core/slices";

/** Puts the views of these objects into `views`, one at a step; what is no such object is left out. */
export function* projectAll<V>(items: readonly unknown[], project: (item: unknown) => V | null, views: V[]): Steps {
  for (const item of items) {
    const view = project(item);
    if (view !== null) views.push(view);
    yield;
  }
}
