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
    await new Promise<void>(resolve => receiver.#server.listen(0, "127.0.0.1", resolve));
    const { port } = receiver.#server.address() as AddressInfo;
    writeFileSync(join(receiver.folder, "url"), `http://127.0.0.1:${port}/hook`);
    return receiver;
  }

  async stop(): Promise<void> {
    await new Promise(resolve => this.#server.close(resolve));
    rmSync(this.folder, { recursive: true });
  }
}
