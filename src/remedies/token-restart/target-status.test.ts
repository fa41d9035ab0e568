import { describe, expect, it } from "vitest";
import { recreatingHookOf } from "../../core/recreating-hooks";
import type { ServiceAccountView } from "../../core/views";
import { Scene, UNAUTHORIZED } from "./testing/scene";

it("writes the time of the last 401 once in half of the window, and when the number of rejected pods changes", async () => {
  const scene = new Scene({ evidence: ["Logs"] });
  const written: string[] = [];
  for (let second = 0; second < 900; second += 10) {
    scene.log(UNAUTHORIZED);
    const [target] = (await scene.pass()).lists?.targets ?? [];
    const shown = `${target?.rejectedPods} ${target?.lastUnauthorizedTime}`;
    if (shown !== written.at(-1)) written.push(shown);
    scene.object = { ...scene.object, status: { targets: target === undefined ? [] : [target] } };
    scene.clock.advance(10_000);
  }
  expect(written).toEqual(["0 2025-01-01T12:00:00Z", "1 2025-01-01T12:01:00Z", "1 2025-01-01T12:08:30Z"]);
});

describe("what recreated the ServiceAccount of rejected pods", () => {
  const HELM = { "helm.sh/hook": "pre-upgrade" };
  /** The life of the default token, of which the kubelet uses 80 %. */
  const REFRESHED_MS = 3_600_000;

  function recreate(scene: Scene, annotations: Record<string, string> = {}): void {
    const hook = recreatingHookOf(annotations);
    const account: ServiceAccountView = { ...scene.account("sa-2", 0), ...(hook && { hook }) };
    scene.accounts.set("web", account);
  }

  /** What status says after some minutes of 401s. */
  async function named(scene: Scene, afterMs = 0): Promise<string | undefined> {
    const log = () => {
      scene.log(UNAUTHORIZED);
    };
    let pass = await scene.passes(24, log);
    for (let ms = 0; ms < afterMs; ms += 60_000) {
      scene.clock.advance(60_000);
      log();
      pass = await scene.pass();
    }
    const [target] = pass.lists?.targets ?? [];
    expect(target?.rejectedPods).toBe(1);
    return target?.recreatedBy;
  }

  it.each([
    [HELM, "HelmHook"],
    [{ "argocd.argoproj.io/hook": "PreSync" }, "ArgoCDHook"],
    [{}, "Other"],
  ])("is named by its annotations %j: %s", async (annotations, expected) => {
    const scene = new Scene();
    recreate(scene, annotations);
    expect(await named(scene)).toBe(expected);
  });

  it("is not named if nothing did", async () => {
    expect(await named(new Scene())).toBeUndefined();
  });

  it("is not named before a pod is rejected", async () => {
    const scene = new Scene();
    recreate(scene, HELM);
    expect((await scene.pass()).lists?.targets).toMatchObject([{ rejectedPods: 0 }]);
    expect((await scene.pass()).lists?.targets?.[0]).not.toHaveProperty("recreatedBy");
  });

  it("is still named after the kubelet has renewed the token, which the client does not read again", async () => {
    const scene = new Scene();
    recreate(scene, HELM);
    expect(await named(scene, REFRESHED_MS)).toBe("HelmHook");
    scene.failOver();
    expect(await named(scene)).toBe("HelmHook");
  });

  it("is not named for a pod that was rejected long after the ServiceAccount was recreated", async () => {
    const scene = new Scene();
    recreate(scene, HELM);
    scene.clock.advance(REFRESHED_MS);
    expect(await named(scene)).toBeUndefined();
  });

  it("is not named for a successor that is rejected as well", async () => {
    const scene = new Scene();
    recreate(scene, HELM);
    expect(await named(scene)).toBe("HelmHook");
    scene.replacePod("web-5d-a", "web-5d-b");
    const pass = await scene.passes(24, () => {
      scene.log(UNAUTHORIZED, "web-5d-b");
    });
    expect(pass.lists?.targets).toMatchObject([{ rejectedPods: 1 }]);
    expect(pass.lists?.targets?.[0]).not.toHaveProperty("recreatedBy");
  });

  it("names the hook also in the message after the token was renewed", async () => {
    const scene = new Scene();
    recreate(scene, HELM);
    await named(scene, REFRESHED_MS);
    expect((await scene.pass()).message).toContain(
      "Pod web-5d-a, older than its ServiceAccount web (a Helm hook recreates it: helm.sh/hook: pre-upgrade), got 401 responses",
    );
  });
});
