import { describe, expect, it } from "vitest";
import type { PodView } from "../../core/views";
import { withAudiences } from "./audiences";
import { pod } from "./testing/fake-log";
import { Scene, UNAUTHORIZED } from "./testing/scene";

const API = "https://kubernetes.default.svc";
const explicit: Partial<PodView> = {
  mountsToken: false,
  audienceTokens: [
    { audience: "vault", expirationSeconds: 60 },
    { audience: API, expirationSeconds: 600 },
  ],
};

describe("a token with an audience", () => {
  it("is for the API server if it names one of its audiences", () => {
    expect(withAudiences(pod(explicit), ["other", API])).toMatchObject({
      mountsToken: true,
      tokenExpirationSeconds: 600,
    });
    expect(withAudiences(pod({ ...explicit, mountsToken: true, tokenExpirationSeconds: 300 }), [API])).toMatchObject({
      tokenExpirationSeconds: 300,
    });
    expect(withAudiences(pod({ mountsToken: false, audienceTokens: [{ audience: API }] }), [API])).toMatchObject({
      mountsToken: true,
    });
  });

  it.each([[[]], [["vault2"]]])("is for somebody else if the audiences are %j", audiences => {
    const one = pod(explicit);
    expect(withAudiences(one, audiences)).toBe(one);
    const plain = pod();
    expect(withAudiences(plain, [API])).toBe(plain);
  });

  it("can be renewed by a restart, which it could not without", async () => {
    for (const [audiences, intents] of [
      [[API], 1],
      [[], 0],
    ] as const) {
      const scene = new Scene();
      scene.audiences = audiences;
      scene.podList = [scene.podAt(-3_600_000, explicit)];
      expect((await scene.passes(13, () => scene.log(UNAUTHORIZED))).intents).toHaveLength(intents);
    }
  });

  it("is proven to be dead by age", async () => {
    const scene = new Scene();
    scene.audiences = [API];
    scene.podList = [scene.podAt(-120_000, explicit)];
    scene.accounts.set("web", scene.account("sa-2", -1_000));
    expect((await scene.passes(13)).intents).toMatchObject([{ restart: { cause: "ServiceAccountRecreated" } }]);
  });
});
