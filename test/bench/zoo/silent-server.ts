import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { ApiProxy, begin, type Exchange, relay, type Upstream } from "../../rig/proxy";

// A program in the lab's network: proxies before the API server, and a server of an empty Helm repository. At each SIGUSR2 the next proxy
// holds all watches that are open, in silence. After SIGHUP the repository answers where it was silent before.

/** Passes everything on, but holds watches. */
class WatchHolder extends ApiProxy {
  readonly #open = new Set<Exchange>();
  readonly #held = new WeakSet<Exchange>();

  hold(): void {
    for (const watch of this.#open) this.#held.add(watch);
  }

  protected async serve(exchange: Exchange): Promise<void> {
    const { request, response } = exchange;
    const answer = await exchange.forward();
    if (!/[?&]watch=(true|1)(&|$)/i.test(request.url ?? "")) return relay(exchange, answer);
    begin(exchange, answer, "content-length");
    this.#open.add(exchange);
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>)
        if (!this.#held.has(exchange) && !response.destroyed)
          await new Promise<void>(resolve => response.write(chunk, () => resolve()));
    } finally {
      this.#open.delete(exchange);
    }
    // A held one never ends, whatever the API server does.
    if (!this.#held.has(exchange)) response.end();
  }
}

async function main([file = "", address = "", repositoryPort = "", ...ports]: readonly string[]): Promise<void> {
  const upstream = JSON.parse(readFileSync(file, "utf8")) as Upstream;
  const proxies = ports.map(() => new WatchHolder(upstream));
  for (const [at, proxy] of proxies.entries()) await proxy.start(Number(ports[at]), address);
  let answersAll = false;
  const repository = createServer(({ url = "" }, response) => {
    if (url.startsWith("/missing")) response.writeHead(404).end();
    else if (answersAll || !url.startsWith("/silent")) response.end("apiVersion: v1\nentries: {}\n");
  });
  repository.listen(Number(repositoryPort), address);
  process.on("SIGUSR2", () => proxies.shift()?.hold());
  process.on("SIGHUP", () => (answersAll = true));
}

void main(process.argv.slice(2));
