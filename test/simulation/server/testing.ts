import type { IncomingMessage } from "node:http";
import { Dice, VirtualClock } from "../time";
import { Access, ADMIN } from "./access";
import { ApiServers, type SentRequest } from "./api-servers";
import { installDefinitions } from "./bootstrap";
import { Store } from "./store";

/** An answer with its parsed body; a body that is no JSON is text. */
export interface Told {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** What a test may set of a request. */
export type Sent = Partial<Omit<SentRequest, "body">> & {
  readonly body?: unknown;
  readonly contentType?: string;
  readonly token?: string;
};

/** Reads a body to its end. */
export async function bodyOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** Simulated API servers for a test, with a token of an administrator. */
export class ServerWorld {
  readonly clock = new VirtualClock();
  readonly store: Store;
  readonly access: Access;
  readonly servers: ApiServers;

  constructor(servers = 1) {
    const dice = new Dice(1);
    const { clock } = this;
    this.store = new Store(clock, dice);
    this.access = new Access({ clock, dice, store: this.store, servers });
    this.access.addUser("admin", ADMIN);
    const runtime = { logs: () => undefined };
    this.servers = new ApiServers({ clock, dice, store: this.store, access: this.access, runtime, servers });
    installDefinitions(this.store);
    this.store.create("serviceaccounts", { metadata: { namespace: "default", name: "default" } });
  }

  /** Sends a request without waiting for its answer. */
  send(path: string, sent: Sent = {}, signal: AbortSignal = new AbortController().signal): Promise<IncomingMessage> {
    const { body, contentType = "application/json", token = "admin", headers = {}, ...request } = sent;
    const full = {
      ...{ method: "GET", from: "test", path, ...request },
      headers: { Authorization: `Bearer ${token}`, "Content-Type": contentType, "User-Agent": "test/1", ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    };
    return this.servers.send(full, signal);
  }

  /** Sends a request, and lets time pass until it is answered. */
  async ask(path: string, sent: Sent = {}): Promise<Told> {
    const answered = this.send(path, sent).then(async answer => {
      const text = await bodyOf(answer);
      return { code: answer.statusCode ?? 0, headers: answer.headers as Record<string, string>, body: parsed(text) };
    });
    // A test may expect the failure itself.
    answered.catch(() => undefined);
    await this.pass(5);
    return answered;
  }

  async pass(ms: number): Promise<void> {
    await this.clock.run(this.clock.monotonicMs() + ms);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
