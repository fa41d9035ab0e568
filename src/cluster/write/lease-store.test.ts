import { describe, expect, it } from "vitest";
import type { ApiRequest } from "../http/api";
import { ApiLeaseStore } from "./lease-store";

describe("the Lease", () => {
  it("keeps fields of other writers when it is renewed", async () => {
    const others = { labels: { team: "platform" }, annotations: { note: "ask us first" } };
    const lease = {
      metadata: { ...others, name: "it", uid: "u", resourceVersion: "7" },
      spec: { holderIdentity: "a" },
    };
    const sent: ApiRequest[] = [];
    const answer = <T>(request: ApiRequest): Promise<T> => {
      sent.push(request);
      return Promise.resolve(structuredClone(lease) as T);
    };
    const store = new ApiLeaseStore({ json: answer, jsonOrNull: answer }, { namespace: "ns", name: "it" });
    const record = (await store.get())!;
    await store.update(await store.update(record));
    const metadata = { ...others, namespace: "ns", name: "it", resourceVersion: "7" };
    expect(sent.slice(1)).toMatchObject([{ body: { metadata } }, { body: { metadata } }]);
  });
});
