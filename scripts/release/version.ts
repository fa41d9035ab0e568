/** @throws Error unless it is a version such as 0.2.0 or 0.2.0-rc.1 */
export function checkVersion(version: string): void {
  if (!/^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/.test(version))
    throw new Error(`expected a version such as 0.2.0, got "${version}"`);
}

/** Reports whether a version comes before a release, such as 0.2.0-rc.1. */
export function isCandidate(version: string): boolean {
  return version.includes("-");
}

/** Files that name the version of the next release, and the words before it. A release gets all of them. */
export const NAMED_IN: Readonly<Record<string, readonly string[]>> = {
  "deploy/chart/Chart.yaml": ["\nversion: ", "\nappVersion: "],
  "deploy/krew/resilience.yaml": ["version: v", "/download/v", "kubectl-resilience-"],
  "docs/cli.md": ["kubectl-resilience-"],
  "README.md": ["controller-resilience:"],
};

/**
 * Returns the text of a file in {@link NAMED_IN} with another version.
 *
 * @throws Error if one of the words is not followed by the old version
 */
export function withVersion(path: string, text: string, { from, to }: { from: string; to: string }): string {
  return (NAMED_IN[path] ?? []).reduce((changed, word) => {
    if (changed.includes(word + from)) return changed.replaceAll(word + from, word + to);
    throw new Error(`expected "${(word + from).trim()}" in ${path}, found none`);
  }, text);
}
