import { describe, expect, it } from "vitest";
import { recreatingHookOf } from "./views";

describe("a hook that recreates an object", () => {
  it.each([
    [{ "helm.sh/hook": "pre-install, pre-upgrade" }, "Helm", "each helm install or upgrade of its release"],
    [{ "helm.sh/hook": "post-rollback" }, "Helm", "each helm rollback of its release"],
    [{ "argocd.argoproj.io/hook": "PreSync" }, "Argo CD", "each sync of its Argo CD application"],
  ])("is found in %o", (annotations, tool, occasion) =>
    expect(recreatingHookOf(annotations)).toMatchObject({ tool, occasion }),
  );

  it.each([{}, { "helm.sh/hook": "test" }, { "helm.sh/hook": "pre-delete" }, { "argocd.argoproj.io/hook": "Skip" }])(
    "is not in %o",
    annotations => expect(recreatingHookOf(annotations)).toBeUndefined(),
  );

  it("is named without what is no name of a phase or policy, and never at length", () => {
    const annotations = {
      "helm.sh/hook": `pre-upgrade,<b>token</b>,${"post-install,".repeat(100_000)}`,
      "helm.sh/hook-delete-policy": "hook-failed, eyJhbGciOi.x",
    };
    const hook = recreatingHookOf(annotations);
    expect(hook?.annotation).toMatch(/^helm\.sh\/hook: pre-upgrade,post-install(,[a-z-]+)*$/);
    expect(hook?.annotation.length).toBeLessThan(160);
    expect(hook?.deletePolicy).toBe("hook-failed");
  });

  it("deletes the former object first, unless its policy says otherwise", () => {
    const policy = (annotations: Record<string, string>): string | undefined =>
      recreatingHookOf(annotations)?.deletePolicy;
    expect(policy({ "helm.sh/hook": "pre-install" })).toBe("before-hook-creation");
    expect(policy({ "argocd.argoproj.io/hook": "Sync" })).toBe("BeforeHookCreation");
    expect(policy({ "helm.sh/hook": "pre-install", "helm.sh/hook-delete-policy": "hook-succeeded" })).toBe(
      "hook-succeeded",
    );
  });
});
