import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";

/**
 * Starts an API server for the framework's client and points KUBECONFIG to it.
 *
 * @returns a function that stops it
 */
export async function serveFramework(answer: RequestListener): Promise<() => Promise<void>> {
  const server = createServer(answer);
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const folder = mkdtempSync(join(tmpdir(), "framework-server-"));
  const { port } = server.address() as AddressInfo;
  const config = {
    clusters: [{ name: "here", cluster: { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } }],
    users: [{ name: "me", user: {} }],
    contexts: [{ name: "here", context: { cluster: "here", user: "me" } }],
    "current-context": "here",
  };
  writeFileSync(join(folder, "config"), JSON.stringify(config));
  vi.stubEnv("KUBECONFIG", join(folder, "config"));
  return async () => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
    rmSync(folder, { recursive: true });
  };
}
