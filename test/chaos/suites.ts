import { crash } from "./crash";
import type { Suite } from "./suite";

/** Everything that `npm run chaos` injects, in this order. */
export const suites: readonly Suite[] = [crash()];
