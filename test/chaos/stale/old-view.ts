import type { Call } from "../calls";
import type { Reply } from "../exchange";
import type { CrashProxy } from "../proxy";
import { objectPath, type Scene } from "../scenario";

/** A list of the API, as far as it matters here. */
interface List {
  readonly metadata: { readonly resourceVersion: string };
}

/** Collections of a scene's namespace that can be shown as they were. */
export type Collection = "pods" | "rolebindings";

const ROOTS: Readonly<Record<Collection, string>> = {
  pods: "/api/v1",
  rolebindings: "/apis/rbac.authorization.k8s.io/v1",
};

/** Nobody gets to see what came after that. */
const GONE: Reply = {
  code: 410,
  body: { kind: "Status", status: "Failure", code: 410, reason: "Expired", message: "too old resource version" },
};

/**
 * What an API server shows whose watch cache is behind: an old list, and no change since, until it has caught up; then everything since, in
 * order. A real second API server can't be made to do this at a chosen moment, and would not do it to the operator's lists, which ask
 * for the newest there is. So the lists were remembered, and the proxy shows them; what follows comes from the real one.
 */
export class OldView {
  /** How often an old list was shown. */
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

  /** As it is now. */
  static async remember(scene: Scene, collection: Collection): Promise<OldView> {
    const path = `${ROOTS[collection]}/namespaces/${scene.namespace}/${collection}`;
    return new OldView(path, await scene.admin.get<List>(path), scene);
  }

  /** From now on, to any client that asks and to any client that watches. With an object: reads of the scene's own show that one. */
  show(proxy: CrashProxy, object?: object): void {
    this.shown = 0;
    this.#isBehind = true;
    this.#caughtUp = new Promise(resolve => (this.#catchUp = resolve));
    proxy.meddler = {
      before: async (call, url) => {
        if (!this.#isBehind || call.method !== "GET") return undefined;
        const asked = new URL(url, "https://api");
        if (object !== undefined && asked.pathname === objectPath(this.scene)) return { code: 200, body: object };
        return asked.pathname === this.#path ? this.#asItWas(asked.searchParams) : undefined;
      },
    };
    proxy.cut(call => this.#concerns(call));
  }

  /** Shows what there is from now on. */
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
    await this.#caughtUp;
    return undefined;
  }

  #concerns({ method, namespace, resource }: Call): boolean {
    return method === "GET" && namespace === this.scene.namespace && this.#path.endsWith(`/${resource}`);
  }
}
