import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the YAML of a definition. scripts/bundle.ts replaces this module: a bundle contains the definitions. */
export function crdText(name: string): string {
  return readFileSync(join(__dirname, "../../crds", `${name}.yaml`), "utf8");
}
