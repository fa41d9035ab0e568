import { describe, expect, it } from "vitest";
import { GoneError, TransientError } from "../../core/errors";
import { KeyMemory, rotationIn } from "../../core/signing-keys";
import { FakeClock } from "../../core/testing/fake-clock";
import type { ApiRequest } from "../http/api";
import { EachInstance } from "./instances";
import { keyIds, PublishedKeys } from "./published-keys";

/** API servers by address; "" is the kubeconfig's. */
function makeBench(servers: Record<string, string[] | Error>, answering: () => void = () => undefined) {
  const asked: string[] = [];
  const accepted = new Set<string | undefined>();
  const said: object[] = [];
  const addresses = Object.keys(servers).filter(address => address !== "");
  const slice = { ports: [{ name: "https", port: 6443 }], endpoints: addresses.map(one => ({ addresses: [one] })) };
  const api = {
    jsonOrNull: () => Promise.resolve(slice as never),
    json: ({ instance, accept }: ApiRequest) => {
      accepted.add(accept);
      const address = instance?.address ?? "";
      asked.push(address);
      answering();
      const answer = servers[address] ?? new TransientError("unreachable");
      if (answer instanceof Error) return Promise.reject(answer);
      return Promise.resolve({ keys: answer.map(kid => ({ kid, kty: "RSA" })) } as never);
    },
  };
  const [clock, memory] = [new FakeClock(), new KeyMemory()];
  const log = { warn: (fields: object, message: string) => void said.push({ ...fields, message }) };
  return {
    asked,
    accepted,
    said,
    clock,
    memory,
    keys: new PublishedKeys({ api, clock, log, memory, each: new EachInstance({ api, clock }) }),
  };
}

describe("the published keys", () => {
  it("are those of every API server", async () => {
    const { keys, memory } = makeBench({ "": ["x"], "10.0.0.1": ["old", "new"], "10.0.0.2": ["new"] });
    await keys.refresh(0);
    expect(memory.history?.current).toEqual(["new", "old"]);
  });

  it.each<[string, Record<string, string[] | Error>, string | undefined]>([
    ["lacks one", { a: ["old", "new"], b: ["old"], c: ["old", "new"] }, "b"],
    ["lacks one, while another cannot be read", { a: ["new"], b: ["old", "new"], c: new TransientError("no") }, "a"],
    ["has another order", { a: ["old", "new"], b: ["new", "old"] }, undefined],
  ])("tell which API server %s", async (_, servers, lacking) => {
    const { keys } = makeBench({ "": ["x"], ...servers });
    expect(keys.lacking).toBeUndefined();
    await keys.refresh(0);
    expect(keys.lacking).toBe(lacking);
  });

  it("tell so for five minutes while not all can be read, and no longer once all have the same", async () => {
    const servers: Record<string, string[] | Error> = { "": ["x"], a: ["old", "new"], b: ["old"] };
    const { keys, clock } = makeBench(servers);
    await keys.refresh(0);
    servers["b"] = new TransientError("no");
    clock.advance(299_000);
    await keys.refresh(0);
    expect(keys.lacking).toBe("b");
    clock.advance(1_000);
    expect(keys.lacking).toBeUndefined();
    servers["b"] = ["old"];
    await keys.refresh(0);
    servers["b"] = ["old", "new"];
    await keys.refresh(0);
    expect(keys.lacking).toBeUndefined();
  });

  it("are asked for in their own media type, since API servers answer 406 to plain JSON", async () => {
    const { keys, accepted } = makeBench({ "": ["x"] });
    await keys.refresh(0);
    expect([...accepted]).toEqual(["application/jwk-set+json"]);
  });

  it("are one warning while they cannot be read, with what that means", async () => {
    const { keys, said } = makeBench({ "": new TransientError("get /openid/v1/jwks: no answer") });
    await keys.refresh(0);
    await keys.refresh(0);
    expect(said).toEqual([
      {
        error: "get /openid/v1/jwks: no answer",
        message: "the keys of ServiceAccount tokens cannot be read, so a rotation of them is not proven",
      },
    ]);
  });

  it("are unknown while one of several API servers cannot be read", async () => {
    const { keys, memory } = makeBench({ "": ["x"], "10.0.0.1": ["old"], "10.0.0.2": new TransientError("no") });
    await keys.refresh(0);
    expect(memory.history).toBeUndefined();
  });

  it("are unknown while one of several API servers answers for all, since its key file may be the wrong one", async () => {
    const no = new TransientError("unreachable");
    const servers: Record<string, string[] | Error> = { "": ["old"], "10.0.0.1": no, "10.0.0.2": no };
    const { keys, memory } = makeBench(servers);
    await keys.refresh(0);
    servers[""] = ["wrong"];
    await keys.refresh(0);
    expect(rotationIn(memory.history)).toBeUndefined();
  });

  it.each<[string, Record<string, string[]>]>([
    ["there is one API server", { "": ["x"], "10.0.0.1": ["old"] }],
    ["none is registered", { "": ["x"] }],
  ])("are those at the kubeconfig's address when %s", async (_, servers) => {
    const { keys, memory, asked } = makeBench(servers);
    await keys.refresh(0);
    expect([asked, memory.history?.current]).toEqual([[""], ["x"]]);
  });

  it("are known to be absent only until the reading begins, since a key may come and sign meanwhile", async () => {
    const servers = { "": ["old"] };
    const { keys, clock, memory } = makeBench(servers, () => clock.advance(4_000));
    await keys.refresh(0);
    servers[""] = ["new"];
    const lastMs = clock.now().getTime() - 4_000;
    await keys.refresh(0);
    expect(rotationIn(memory.history)?.beforeMs).toBe(lastMs);
  });

  it("are read again only after the age, also after a failure", async () => {
    const { keys, asked, clock, memory } = makeBench({ "": new GoneError("get keys: not found") });
    await Promise.all([keys.refresh(60_000), keys.refresh(60_000)]);
    await keys.refresh(60_000);
    expect(asked).toHaveLength(1);
    clock.advance(60_000);
    await keys.refresh(60_000);
    expect(asked).toHaveLength(2);
    expect(memory.history).toBeUndefined();
  });

  it.each<[unknown]>([[null], [{}], [{ keys: [] }], [{ keys: [{ kid: "a" }, { kty: "RSA" }] }], [{ keys: "a" }]])(
    "are unknown when the answer is %j",
    answer => {
      expect(() => keyIds(answer)).toThrow(TransientError);
    },
  );
});
