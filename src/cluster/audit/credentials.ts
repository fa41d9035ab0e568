import { createHash, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { TerminalError } from "../../core/errors";

/** What the audit webhook serves with. All of it but the certificate is secret. */
export interface AuditCredentials {
  readonly cert: string;
  readonly key: string;
  readonly token: string;
}

/** Shorter tokens could be guessed. */
const SHORTEST_TOKEN = 16;

/**
 * Reads `tls.crt`, `tls.key` and `token` from a folder, such as a mounted Secret.
 *
 * @throws TerminalError without any content of the files
 */
export async function readAuditCredentials(folder: string): Promise<AuditCredentials> {
  const [cert, key, token] = await Promise.all(["tls.crt", "tls.key", "token"].map(name => readText(folder, name)));
  if (cert === undefined || key === undefined || token === undefined)
    throw new TerminalError("the folder of --audit-dir: expected the files tls.crt, tls.key and token");
  if (token.length < SHORTEST_TOKEN)
    throw new TerminalError(
      `the file token in the folder of --audit-dir: expected ${SHORTEST_TOKEN} characters or more`,
    );
  return { cert, key, token };
}

async function readText(folder: string, name: string): Promise<string | undefined> {
  const text = await readFile(join(folder, name), "utf8").catch(() => "");
  return text.trim() === "" ? undefined : text.trim();
}

/** Reports whether an Authorization header has this token. Takes the same time for every wrong one. */
export function isAuthorized(header: string | undefined, token: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(header ?? ""), digest(`Bearer ${token}`));
}
