/** More than a cluster has of namespaces, images and ServiceAccount names; old ones are forgotten with all others. */
const MOST = 20_000;

const texts = new Map<string, string>();

/** Returns an equal text, the same for all callers: parsed JSON has a copy per object, and thousands of views have texts in common. */
export function sharedText(text: string): string {
  const known = texts.get(text);
  if (known !== undefined) return known;
  if (texts.size >= MOST) texts.clear();
  texts.set(text, text);
  return text;
}
