import { describe, expect, it } from "vitest";
import { KEYS_SETTLE_MS } from "../../core/signing-keys";
import { Scene, UNAUTHORIZED } from "./testing/scene";

const MINUTE = 60_000;

/** The pod got its token an hour ago, and a minute ago all keys from that time were gone. */
function rotated(): Scene {
  const scene = new Scene();
  const nowMs = scene.clock.now().getTime();
  // Its next refresh is due after 48 minutes.
  scene.podList = [scene.podAt(-20 * MINUTE, {})];
  scene.rotation = { beforeMs: nowMs - 2 * MINUTE, changedMs: nowMs - MINUTE };
  return scene;
}

describe("a pod whose token was signed with a key that is gone", () => {
  it("is restarted after a single 401, once the change of the keys has lasted", async () => {
    const scene = rotated();
    scene.log(UNAUTHORIZED);
    const first = await scene.pass();
    expect(first).toMatchObject({ status: "False", reason: "RestartDeferred", intents: [], progressing: true });
    expect(first.message).toContain("the signing keys changed lately, so no restart before 2025-01-01T12:01:00Z");
    const due = await scene.passes((KEYS_SETTLE_MS - MINUTE) / 5_000, () => scene.log(UNAUTHORIZED));
    expect(due.intents).toMatchObject([{ verb: "evict", restart: { cause: "SigningKeyRotated" } }]);
    expect(due.intents[0]?.restart).not.toHaveProperty("rejections");
    expect(due.message).toContain("got its token before the signing key was replaced");
  });

  it("is left alone without a 401 since the change", async () => {
    const scene = rotated();
    scene.clock.advance(-2 * MINUTE);
    scene.log(UNAUTHORIZED);
    scene.clock.advance(2 * MINUTE);
    const pass = await scene.passes(24, () => scene.log("all is well"));
    expect(pass).toMatchObject({ status: "True", intents: [] });
  });

  it("is left alone when the old key comes back", async () => {
    const scene = rotated();
    const pass = await scene.passes(40, second => {
      if (second < 50) scene.log(UNAUTHORIZED);
      else scene.log("all is well");
      if (second === 50) scene.rotation = undefined;
    });
    expect(pass).toMatchObject({ status: "True", reason: "Accepted", intents: [] });
  });

  it("is left alone when its 401s have ended", async () => {
    const scene = rotated();
    const pass = await scene.passes(40, second => scene.log(second < 50 ? UNAUTHORIZED : "all is well"));
    expect(pass.intents).toEqual([]);
  });

  it("has recovered half a minute after its successor is Ready", async () => {
    const scene = rotated();
    const due = await scene.passes(40, () => scene.log(UNAUTHORIZED));
    scene.noteRestart(due.intents[0]!);
    scene.replacePod("web-5d-a", "web-5d-b");
    const after = await scene.passes(8, () => scene.log("all is well", "web-5d-b"));
    expect(after.restarts).toMatchObject([{ cause: "SigningKeyRotated", outcome: "Recovered" }]);
  });
});

describe("a pod that got its token after the new key was there", () => {
  it("needs persistent 401s, as ever", async () => {
    const scene = rotated();
    scene.podList = [scene.podAt(-90_000, {})];
    scene.log(UNAUTHORIZED);
    const pass = await scene.passes(6, () => undefined);
    expect(pass.intents).toEqual([]);
    const later = await scene.passes(14, () => scene.log(UNAUTHORIZED));
    expect(later.intents).toMatchObject([{ restart: { cause: "Unknown" } }]);
  });
});
