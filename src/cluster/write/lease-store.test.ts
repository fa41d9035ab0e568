import { describe, expect, it } from "vitest";
import { BREAKER_ANNOTATION } from "../../api/names";
import type { ApiRequest } from "../http/api";
import { leaseStore } from "./lease-store";

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
    const store = leaseStore({ json: answer, jsonOrNull: answer }, { namespace: "ns", name: "it" });
    const record = (await store.get())!;
    await store.update(await store.update(record));
    const metadata = { ...others, namespace: "ns", name: "it", resourceVersion: "7" };
    expect(sent.slice(1)).toMatchObject([{ body: { metadata } }, { body: { metadata } }]);
  });

  it("writes the annotations of the record, and reads them back, beside the annotations of others", async () => {
    let lease = { metadata: { annotations: { note: "ask us first" } as Record<string, string>, resourceVersion: "7" } };
    const answer = <T>({ body }: ApiRequest): Promise<T> => {
      if (body !== undefined) lease = body as typeof lease;
      return Promise.resolve(structuredClone(lease) as T);
    };
    const store = leaseStore({ json: answer, jsonOrNull: answer }, { namespace: "ns", name: "it" });
    const record = (await store.get())!;
    expect(record.annotations).toEqual({ note: "ask us first" });
    const annotations = { ...record.annotations, [BREAKER_ANNOTATION]: "why" };
    expect(await store.update({ ...record, annotations })).toMatchObject({ annotations });
    expect(lease.metadata.annotations).toEqual(annotations);
    expect(await store.update((await store.get())!)).toMatchObject({ annotations });
    lease.metadata.annotations = { note: "ask us first" };
    const reset = (await store.get())!;
    await store.update(reset);
    expect(lease.metadata.annotations).toEqual({ note: "ask us first" });
  });
});
