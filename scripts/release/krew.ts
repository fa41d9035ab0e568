import { readFileSync } from "node:fs";
import { join } from "node:path";
import cfg from "../../package.json";

const MANIFEST = join(__dirname, "..", "..", "deploy", "krew", "resilience.yaml");

/**
 * Returns the manifest for krew of this version.
 *
 * @param repository https address of the repository that has the release
 * @param checksum gives the SHA-256 of an archive of the release, by its name
 * @throws Error for another kind of address or checksum, or a manifest of another version
 */
export function krewManifest(repository: string, checksum: (archive: string) => string): string {
  if (!/^https:\/\/[a-z0-9.-]+(\/[A-Za-z0-9._-]+)+$/.test(repository))
    throw new Error(`expected the https address of the repository, got "${repository}"`);
  const template = readFileSync(MANIFEST, "utf8");
  if (!template.includes(`version: v${cfg.version}\n`))
    throw new Error(`expected version v${cfg.version} in deploy/krew/resilience.yaml, as in package.json`);
  return template
    .replaceAll("REPOSITORY", repository)
    .replaceAll(/SHA256 ([\w.-]+)/g, (_, archive: string) => digits(checksum(archive)));
}

function digits(sha256: string): string {
  if (/^[0-9a-f]{64}$/.test(sha256)) return sha256;
  throw new Error(`expected a checksum with 64 digits, got "${sha256}"`);
}
