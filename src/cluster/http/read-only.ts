import { TerminalError } from "../../core/errors";

/** Reviews are created, but nothing is stored: the answer is all that they are. */
const REVIEWS = /^\/apis\/(authorization|authentication)\.k8s\.io\/v1\/(self)?subject(access|rules)?reviews$/;

interface Request {
  readonly what: string;
  readonly method?: string;
  readonly path: string;
}

/** @throws TerminalError for a request that could change anything */
export function requireRead({ what, method = "GET", path }: Request): void {
  if (method === "GET" || (method === "POST" && REVIEWS.test(path))) return;
  throw new TerminalError(`${what}: expected a read, got ${method}; this client only reads`);
}
