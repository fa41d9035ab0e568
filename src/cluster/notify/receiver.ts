import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { TerminalError } from "../../core/errors";

/** Where to send. Everything here may be secret. */
export interface Receiver {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Certificates to trust instead of the system's. */
  readonly ca?: string;
  readonly template?: string;
}

/** Files with this prefix are headers. */
const HEADER = "header.";

/**
 * Reads the receiver from a folder, such as a mounted Secret: `url`, `header.<name>` for each header, `ca.crt` and `template`. Read again for each
 * request, so that a rotated Secret counts at once.
 *
 * @throws TerminalError without any content of the files
 */
export async function readReceiver(folder: string): Promise<Receiver> {
  const names = await readdir(folder).catch((): string[] => []);
  const read = async (name: string): Promise<string> => (await readFile(join(folder, name), "utf8")).trim();
  if (!names.includes("url")) throw new TerminalError("the folder of --notify-dir has no file url");
  try {
    const headers = names.filter(name => name.startsWith(HEADER));
    const values = await Promise.all(headers.map(async name => [name.slice(HEADER.length), await read(name)] as const));
    return {
      url: urlOf(await read("url")),
      headers: Object.fromEntries(values),
      ...(names.includes("ca.crt") && { ca: await read("ca.crt") }),
      ...(names.includes("template") && { template: await read("template") }),
    };
  } catch (error) {
    if (error instanceof TerminalError) throw error;
    throw new TerminalError("a file in the folder of --notify-dir cannot be read");
  }
}

function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw new TerminalError("the file url in the folder of --notify-dir: expected one http or https address");
}
