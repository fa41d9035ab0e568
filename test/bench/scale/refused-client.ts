import { Agent, request } from "node:https";
import type { Lab } from "../../lab";

/** A client whose token is invalid: what the logs of dead pods say must be true for the API server as well. */
export class RefusedClient {
  readonly #agent: Agent;
  readonly #timer: NodeJS.Timeout;

  constructor({ server, certificates }: Lab, perSecond = 1) {
    this.#agent = new Agent({ ca: certificates.ca, keepAlive: true });
    this.#timer = setInterval(() => this.#ask(`${server}/api/v1/pods?limit=1`), 1_000 / perSecond);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#agent.destroy();
  }

  #ask(url: string): void {
    const headers = { authorization: "Bearer none" };
    request(url, { agent: this.#agent, headers }, response => response.resume())
      .on("error", () => undefined)
      .end();
  }
}
