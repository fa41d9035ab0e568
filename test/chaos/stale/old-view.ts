import type { Call } from "../calls";
import type { Reply } from "../exchange";
import type { CrashProxy } from "../proxy";
import { objectPath, type Scene } from "../scenario";

/** The relevant parts of an API list. */
interface List {
  readonly metadata: { readonly resourceVersion: string };
}

/** Collections of which old lists can be shown: of all namespaces, as the operator watches them. */
export type Collection = "pods" | "rolebindings";

const ROOTS: Readonly<Record<Collection, string>> = {
  pods: "/api/v1",
  rolebindings: "/apis/rbac.authorization.k8s.io/v1",
};

/** The answer to a watch that asks for changes after the old list. */
const GONE: Reply = {
  code: 410,
  body: { kind: "Status", status: "Failure", code: 410, reason: "Expired", message: "too old resource version" },
};

/**
 * Simulates an API server whose watch cache is behind: it returns an old list and no later change, until it has caught up; then it sends all changes in
 * order. A real second API server can't be made to do this at a chosen moment, and not for the operator's lists, which ask for the newest data. So the
 * proxy returns recorded lists; everything else comes from the real API server.
 */
export class OldView {
  /** How often a client got the old view: the old list, or a watch that resumes from it and stays silent. */
  shown = 0;
  readonly #path: string;
  readonly #list: List;
  #isBehind = false;
  #caughtUp: Promise<void> = Promise.resolve();
  #catchUp: () => void = () => undefined;

  private constructor(
    path: string,
    list: List,
    private readonly scene: Scene,
  ) {
    this.#path = path;
    this.#list = list;
  }

  /** Records the current list. */
  static async remember(scene: Scene, collection: Collection): Promise<OldView> {
    const path = `${ROOTS[collection]}/${collection}`;
    return new OldView(path, await scene.admin.get<List>(path), scene);
  }

  /** Returns the recorded list to all clients from now on. With an object, reads of the scene's ControllerResilience return that one. */
  show(proxy: CrashProxy, object?: object): void {
    this.shown = 0;
    this.#isBehind = true;
    this.#caughtUp = new Promise(resolve => (this.#catchUp = resolve));
    proxy.interceptor = {
      before: async (call, url) => {
        if (!this.#isBehind || call.method !== "GET") return undefined;
        const asked = new URL(url, "https://api");
        if (object !== undefined && asked.pathname === objectPath(this.scene)) return { code: 200, body: object };
        return asked.pathname === this.#path ? this.#asItWas(asked.searchParams) : undefined;
      },
    };
    proxy.cut(call => this.#concerns(call));
  }

  /** Returns current data from now on. */
  catchUp(): void {
    this.#isBehind = false;
    this.#catchUp();
  }

  async #asItWas(query: URLSearchParams): Promise<Reply | undefined> {
    if (query.get("watch") !== "true") {
      this.shown++;
      return { code: 200, body: this.#list };
    }
    if (query.get("resourceVersion") !== this.#list.metadata.resourceVersion) return GONE;
    this.shown++;
    await this.#caughtUp;
    return undefined;
  }

  #concerns({ method, namespace, resource }: Call): boolean {
    return method === "GET" && namespace === undefined && this.#path.endsWith(`/${resource}`);
  }
}
