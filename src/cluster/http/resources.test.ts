import { describe, expect, it } from "vitest";
import { TerminalError, TooLargeError } from "../../core/errors";
import type { Api, ApiRequest } from "./api";
import { describeCall, listPages, METADATA_ONLY, pathOf, resourceOf, type Unread } from "./resources";
import { KINDS } from "../../core/kinds";

describe("pathOf", () => {
  it("supports the core group and the others", () => {
    expect(pathOf(KINDS.Pod, { namespace: "kai", name: "a", subresource: "log" })).toBe(
      "/api/v1/namespaces/kai/pods/a/log",
    );
    expect(pathOf(KINDS.ControllerResilience)).toBe("/apis/controller-resilience.io/v1alpha1/controllerresiliences");
    expect(
      pathOf(resourceOf({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding" }), { name: "a:b" }),
    ).toBe("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/a%3Ab");
  });

  it("escapes names, so that none changes the path", () => {
    expect(pathOf(KINDS.Pod, { namespace: "kai", name: "../secrets/a?x#y" })).toBe(
      "/api/v1/namespaces/kai/pods/..%2Fsecrets%2Fa%3Fx%23y",
    );
  });
});

it("resourceOf rejects a kind that the operator never writes", () => {
  expect(() => resourceOf({ apiVersion: "v1", kind: "Secret" })).toThrow(TerminalError);
});

it("describeCall formats calls as kubectl does", () => {
  expect(describeCall("list", KINDS.Pod)).toBe("list pods");
  expect(describeCall("list", KINDS.Pod, { namespace: "kai" })).toBe("list pods in kai");
  expect(describeCall("create", KINDS.Pod, { namespace: "kai", name: "a", subresource: "eviction" })).toBe(
    "create pods/eviction kai/a",
  );
});

describe("a list", () => {
  /** An API server with 30 objects, of which at most so many fit into an answer, and one of which never does. */
  function serve(most: () => number, huge = -1): { api: Pick<Api, "json">; asked: unknown[] } {
    const asked: unknown[] = [];
    const json = <T>({ query = {}, accept }: ApiRequest): Promise<T> => {
      const [limit, from] = [Number(query["limit"]), Number(query["continue"] ?? 0)];
      asked.push(limit);
      const end = Math.min(30, from + limit);
      const isHuge = from <= huge && huge < end;
      if (isHuge && accept === METADATA_ONLY) {
        const metadata = { namespace: "kai", name: String(huge) };
        return Promise.resolve({ metadata: { continue: String(end) }, items: [{ metadata }] } as T);
      }
      if (isHuge || end - from > most()) return Promise.reject(new TooLargeError("list pods: got more"));
      const items = Array.from({ length: end - from }, (_, i) => ({ number: from + i }));
      return Promise.resolve({ metadata: { continue: end < 30 ? String(end) : "" }, items } as T);
    };
    return { api: { json }, asked };
  }

  const read = async (api: Pick<Api, "json">): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const { items } of listPages(api, { resource: KINDS.Pod, limit: 16 })) found.push(...items);
    return found;
  };

  it("gets smaller pages once one is too large, and misses nothing", async () => {
    const { api, asked } = serve(() => 3);
    expect(await read(api)).toEqual(Array.from({ length: 30 }, (_, number) => ({ number })));
    expect(asked.slice(0, 6)).toEqual([16, 8, 4, 2, 3, 4]);
  });

  it("grows again after large objects, and fails if not even metadata fits", async () => {
    let most = 1;
    const { api, asked } = serve(() => most);
    const pages = listPages(api, { resource: KINDS.Pod, limit: 16 });
    await pages.next();
    most = 16;
    while ((await pages.next()).done !== true);
    expect(asked).toEqual([16, 8, 4, 2, 1, 2, 3, 4, 6, 8, 11]);
    await expect(read(serve(() => 0).api)).rejects.toThrow(TooLargeError);
  });

  it("reads only the metadata of an object that is too large, and fails with its name unless the caller takes it", async () => {
    const unread: Unread[] = [];
    const { api } = serve(() => 16, 7);
    const found: unknown[] = [];
    const onUnread = (object: Unread): void => void unread.push(object);
    for await (const { items } of listPages(api, { resource: KINDS.Pod, limit: 16 }, { onUnread }))
      found.push(...items);
    expect(found).toHaveLength(29);
    expect(unread).toEqual([{ namespace: "kai", name: "7" }]);
    await expect(read(api)).rejects.toThrow("list pods: kai/7 is too large to be read");
  });
});
