import type { RecreatingHook } from "../../core/views";

// Objects that Helm or Argo CD delete and create again, instead of updating them in place, by the annotations that say so.

const HELM = "helm.sh/hook";
const ARGO = "argocd.argoproj.io/hook";

/** All phases of Helm together are shorter. */
const MAX_CHARACTERS = 128;

/** Without a policy both tools delete the former object before they create it again. */
const DEFAULT_POLICIES = { [HELM]: "before-hook-creation", [ARGO]: "BeforeHookCreation" } as const;

/** Returns the hook that deletes and recreates an object with these annotations; undefined if none does. */
export function recreatingHookOf(annotations: Readonly<Record<string, string>>): RecreatingHook | undefined {
  const argo = wordsOf(annotations[ARGO]).filter(phase => phase !== "Skip");
  if (argo.length > 0) return hookOf("Argo CD", ARGO, annotations, "each sync of its Argo CD application");
  const phases = wordsOf(annotations[HELM]).map(phase => phase.replace(/^(pre|post)-/, ""));
  const occasions = ["install", "upgrade", "rollback"].filter(phase => phases.includes(phase));
  if (occasions.length === 0) return undefined;
  return hookOf("Helm", HELM, annotations, `each helm ${occasions.join(" or ")} of its release`);
}

function hookOf(
  tool: RecreatingHook["tool"],
  key: typeof HELM | typeof ARGO,
  annotations: Readonly<Record<string, string>>,
  occasion: string,
): RecreatingHook {
  const deletePolicy = wordsOf(annotations[`${key}-delete-policy`]).join(",") || DEFAULT_POLICIES[key];
  return { tool, annotation: `${key}: ${wordsOf(annotations[key]).join(",")}`, deletePolicy, occasion };
}

/** Others write annotations, and messages quote them: only what may be a name of a phase or policy counts, and no more than there are. */
function wordsOf(text = ""): string[] {
  return text
    .slice(0, MAX_CHARACTERS)
    .split(",")
    .map(word => word.trim())
    .filter(word => /^[a-z-]+$/i.test(word));
}
