import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { authority, issue, named } from "../../src/cluster/testing/certificates";
import type { Admin } from "./admin";

/** A request to the kubelet. */
export interface LogCall {
  readonly pod: string;
  readonly container: string;
  readonly query: URLSearchParams;
}

/** A fake kubelet behind a real API server, which can hang and fail on command. */
export class StandInKubelet {
  readonly calls: LogCall[] = [];
  answer: (call: LogCall, response: ServerResponse) => void = (_, response) => response.end();
  /** The API server accepts any certificate of a kubelet unless it has an authority to check it. */
  readonly #server: Server;

  constructor() {
    const { key, certificate: cert } = issue("kubelet", named("127.0.0.1"), authority());
    this.#server = createServer({ key, cert }, (request, response) => this.#serve(request, response));
  }

  /** Listens, and creates a Node of that name with this kubelet. */
  async start(admin: Admin, node: string): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(0, "127.0.0.1", resolve));
    const { port } = this.#server.address() as AddressInfo;
    await admin.create("/api/v1/nodes", { metadata: { name: node } });
    const status = {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    };
    await admin.patch(`/api/v1/nodes/${node}/status`, { status });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", "https://kubelet");
    const [, , , pod = "", container = ""] = url.pathname.split("/");
    const call = { pod, container, query: url.searchParams };
    this.calls.push(call);
    this.answer(call, response);
  }
}
