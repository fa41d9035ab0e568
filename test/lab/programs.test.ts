import { describe, expect, it } from "vitest";
import { KUBERNETES_VERSION } from "./go-build";
import { choosePrograms, type Program } from "./programs";

const wanted: Program[] = ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"];
const envtest: Program[] = ["etcd", "kube-apiserver", "kubectl"];

describe("choosePrograms", () => {
  it("builds everything without KUBEBUILDER_ASSETS", () => {
    const choice = choosePrograms({ wanted, assets: undefined, canBuild: true });
    expect(choice).toEqual({ fromAssets: [], build: wanted, missing: [], note: "" });
  });

  it("builds nothing when KUBEBUILDER_ASSETS has all", () => {
    const assets = { folder: "/assets", has: wanted, version: "v1.30.0" };
    expect(choosePrograms({ wanted, assets, canBuild: true })).toMatchObject({ fromAssets: wanted, build: [] });
  });

  it("builds what an API server of the same minor version lacks", () => {
    const version = KUBERNETES_VERSION.replace(/\d+$/, "0");
    const choice = choosePrograms({ wanted, assets: { folder: "/assets", has: envtest, version }, canBuild: true });
    expect(choice).toMatchObject({ fromAssets: envtest, build: ["kube-controller-manager"], missing: [] });
  });

  it("does not mix minor versions: builds all programs, and notes that", () => {
    const assets = { folder: "/assets", has: envtest, version: "v1.30.0" };
    const choice = choosePrograms({ wanted, assets, canBuild: true });
    expect(choice).toMatchObject({ fromAssets: [], build: wanted, missing: [] });
    expect(choice.note).toContain("all programs are built");
  });

  it("lists missing programs that can't be built", () => {
    const assets = { folder: "/assets", has: envtest, version: "v1.30.0" };
    const choice = choosePrograms({ wanted, assets, canBuild: false });
    expect(choice).toMatchObject({ fromAssets: envtest, build: [], missing: ["kube-controller-manager"] });
    expect(choice.note).toContain("no kube-controller-manager");
  });
});
