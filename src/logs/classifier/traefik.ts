import type { Evidence } from "./evidence";
import type { ParsedRecord } from "./parse-record";
import { words } from "./text";

// Traefik logs the errors of all its providers in the same words, and names the provider in a field (pkg/provider/*, v2 and v3).

/** Providers that ask only the API server. */
const KUBERNETES_PROVIDERS: ReadonlySet<string> = new Set(
  words("kubernetes kubernetescrd kubernetesingress kubernetesgateway kubernetesingressnginx knative"),
);

/** Reports whether a record is about such a provider. */
export function isKubernetesProvider({ fields }: Pick<ParsedRecord, "fields">): boolean {
  return KUBERNETES_PROVIDERS.has(fields.get("providername") ?? "");
}

/** The word "Provider" in them is no evidence for another service. */
const SENTENCES = ["Provider error, retrying in ", "Provider connection error: ", "Cannot connect to Provider: "];

/** Returns the evidence of a sentence about such a provider, without the provider itself. */
export function withoutProvider(text: string, evidence: readonly Evidence[]): readonly Evidence[] {
  const sentence = SENTENCES.find(one => text.includes(one));
  if (sentence === undefined) return evidence;
  const start = text.indexOf(sentence);
  return evidence.filter(({ at }) => at < start || at >= start + sentence.length);
}
