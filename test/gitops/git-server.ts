import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Repository } from "./repository";

const END_OF_HEADERS = "\r\n\r\n";

/** Serves the Git repositories of a folder by HTTP on the loopback, for reading: by `git http-backend`, Git's own program for this. */
export class GitServer {
  private constructor(
    private readonly folder: string,
    private readonly server: Server,
  ) {}

  /** @param folder the folder of the repositories, which may not exist yet */
  static async start(folder: string): Promise<GitServer> {
    const server = createServer((request, response) => {
      answer(folder, request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new GitServer(folder, server);
  }

  /** Creates a repository that this server serves. */
  repository(name: string): Promise<Repository> {
    const { port } = this.server.address() as AddressInfo;
    return Repository.create(join(this.folder, name), `http://127.0.0.1:${port}/${name}`);
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** Calls the program as a CGI script: the request in variables and on standard input, headers and body on standard output. */
async function answer(folder: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
  const header = (name: string): string => String(request.headers[name] ?? "");
  const variables = {
    GIT_PROJECT_ROOT: folder,
    GIT_HTTP_EXPORT_ALL: "1",
    GIT_PROTOCOL: header("git-protocol"),
    REQUEST_METHOD: request.method,
    PATH_INFO: pathname,
    QUERY_STRING: String(searchParams),
    CONTENT_TYPE: header("content-type"),
    HTTP_CONTENT_ENCODING: header("content-encoding"),
  };
  const program = spawn("git", ["http-backend"], {
    env: { ...process.env, ...variables },
    stdio: ["pipe", "pipe", "ignore"],
  });
  // It does not read the body of a request that it refuses.
  program.stdin.on("error", () => undefined);
  request.pipe(program.stdin);
  const chunks: Buffer[] = [];
  program.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(program, "close");
  const output = Buffer.concat(chunks);
  const end = output.indexOf(END_OF_HEADERS);
  if (end < 0) throw new Error("git http-backend printed no headers");
  const headers = output.subarray(0, end).toString().split("\r\n").map(parseHeader);
  const status = headers.find(([name]) => name === "Status")?.[1] ?? "200";
  response.writeHead(Number.parseInt(status, 10), Object.fromEntries(headers));
  response.end(output.subarray(end + END_OF_HEADERS.length));
}

function parseHeader(line: string): [string, string] {
  const [name = "", ...value] = line.split(": ");
  return [name, value.join(": ")];
}
