import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A CloudEvent of a notification, as far as tests read it. */
interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly data: {
    readonly regarding: { readonly namespace?: string; readonly name: string };
    readonly note: string;
  };
}

/** A receiver of notifications on the loopback, with the folder for `--notify-dir`. */
export class WebhookReceiver {
  readonly received: ReceivedEvent[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), "notify-"));
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      let body = "";
      request.on("data", (part: Buffer) => (body += part.toString()));
      request.on("end", () => {
        this.received.push(JSON.parse(body) as ReceivedEvent);
        response.end();
      });
    });
  }

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    await receiver.listen(0);
    writeFileSync(join(receiver.folder, "url"), `http://127.0.0.1:${receiver.port}/hook`);
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Listens again after {@link close}. */
  listen(port: number): Promise<void> {
    return new Promise(resolve => this.#server.listen(port, "127.0.0.1", () => resolve()));
  }

  /** Refuses connections from now on. */
  close(): Promise<void> {
    return new Promise(resolve => this.#server.close(() => resolve()));
  }

  async stop(): Promise<void> {
    await this.close();
    rmSync(this.folder, { recursive: true });
  }
}
