import { expect, it } from "vitest";
import { BREAKER_ANNOTATION } from "../../api/names";
import type { ApiRequest } from "../http/api";
import { leaseStore } from "./lease-store";

it("the Lease keeps what others wrote there when it is renewed, and has the annotations of the record", async () => {
  const others = { labels: { team: "platform" }, annotations: { note: "ask us first" } as Record<string, string> };
  let lease = { metadata: { ...others, name: "it", uid: "u", resourceVersion: "7" }, spec: { holderIdentity: "a" } };
  const answer = <T>({ body }: ApiRequest): Promise<T> => {
    if (body !== undefined) lease = body as typeof lease;
    return Promise.resolve(structuredClone(lease) as T);
  };
  const store = leaseStore({ json: answer, jsonOrNull: answer }, { namespace: "ns", name: "it" });
  const record = (await store.get())!;
  expect(record.annotations).toEqual(others.annotations);
  for (const read of [record, await store.update(record)]) {
    await store.update(read);
    expect(lease.metadata).toEqual({ ...others, namespace: "ns", name: "it", resourceVersion: "7" });
  }
  const annotations = { ...record.annotations, [BREAKER_ANNOTATION]: "why" };
  expect(await store.update({ ...record, annotations })).toMatchObject({ annotations });
  expect(lease.metadata).toMatchObject({ ...others, annotations });
  expect(await store.update((await store.get())!)).toMatchObject({ annotations });
  lease.metadata.annotations = others.annotations;
  await store.update((await store.get())!);
  expect(lease.metadata.annotations).toEqual(others.annotations);
});
