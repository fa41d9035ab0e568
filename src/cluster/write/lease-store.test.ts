import { expect, it } from "vitest";
import { BREAKER_ANNOTATION } from "../../api/names";
import { settle } from "../../core/testing/fake-clock";
import type { ApiRequest } from "../http/api";
import { leaseStore } from "./lease-store";

const PLACE = { namespace: "ns", name: "it" };

it("the Lease tells of a restore of etcd when its resourceVersion goes back, and not for an answer that is late", async () => {
  const told: string[] = [];
  let answer: Promise<unknown> | undefined;
  const give = <T>(): Promise<T> => answer as Promise<T>;
  const store = leaseStore({ json: give, jsonOrNull: give }, PLACE, () => void told.push("restored"));
  const read = async (resourceVersion: string, delay = Promise.resolve()): Promise<void> => {
    answer = delay.then(() => ({ metadata: { resourceVersion } }));
    await store.get();
    told.push(resourceVersion);
  };
  for (const version of ["98", "98", "101", "99", "99", "x", "1", "2"]) await read(version);
  await Promise.all([read("3", settle()), read("4")]);
  expect(told).toEqual(["98", "98", "101", "restored", "99", "99", "x", "1", "2", "4", "3"]);
  answer = Promise.resolve({ metadata: { resourceVersion: "1" } });
  await store.create((await store.get())!);
  expect(told.slice(11)).toEqual(["restored"]);
});

it("the Lease keeps what others wrote there when it is renewed, and has the annotations of the record", async () => {
  const others = { labels: { team: "platform" }, annotations: { note: "ask us first" } as Record<string, string> };
  let lease = { metadata: { ...others, name: "it", uid: "u", resourceVersion: "7" }, spec: { holderIdentity: "a" } };
  const answer = <T>({ body }: ApiRequest): Promise<T> => {
    if (body !== undefined) lease = body as typeof lease;
    return Promise.resolve(structuredClone(lease) as T);
  };
  const store = leaseStore({ json: answer, jsonOrNull: answer }, PLACE);
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
