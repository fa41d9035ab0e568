import { describe, expect, it } from "vitest";
import { kubernetesVersion } from "./kubernetes";
import { choosePrograms, type Program } from "./programs";

const wanted: Program[] = ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"];
const open = { version: kubernetesVersion("1.36"), isExact: false };
const envtest: Program[] = ["etcd", "kube-apiserver", "kubectl"];

describe("choosePrograms", () => {
  it("builds everything without KUBEBUILDER_ASSETS", () => {
    const choice = choosePrograms({ ...open, wanted, assets: undefined, canBuild: true });
    expect(choice).toEqual({ fromAssets: [], build: wanted, missing: [], note: "" });
  });

  it("builds nothing when KUBEBUILDER_ASSETS has all", () => {
    const assets = { folder: "/assets", has: wanted, version: "v1.30.0" };
    expect(choosePrograms({ ...open, wanted, assets, canBuild: true })).toMatchObject({
      fromAssets: wanted,
      build: [],
    });
  });

  it("builds what an API server of the same minor version lacks", () => {
    const version = kubernetesVersion("1.36").replace(/\d+$/, "0");
    const choice = choosePrograms({
      ...open,
      wanted,
      assets: { folder: "/assets", has: envtest, version },
      canBuild: true,
    });
    expect(choice).toMatchObject({ fromAssets: envtest, build: ["kube-controller-manager"], missing: [] });
  });

  it("does not mix minor versions: builds all programs, and notes that", () => {
    const assets = { folder: "/assets", has: envtest, version: "v1.30.0" };
    const choice = choosePrograms({ ...open, wanted, assets, canBuild: true });
    expect(choice).toMatchObject({ fromAssets: [], build: wanted, missing: [] });
    expect(choice.note).toContain("all programs are built");
  });

  it("uses no assets of another version than the one asked for", () => {
    const assets = { folder: "/assets", has: wanted, version: "v1.30.0" };
    const exact = { wanted, assets, version: kubernetesVersion("1.31"), isExact: true };
    const note = `KUBEBUILDER_ASSETS (/assets, v1.30.0) does not match ${exact.version}, and is not used`;
    expect(choosePrograms({ ...exact, canBuild: true })).toEqual({ fromAssets: [], build: wanted, missing: [], note });
    expect(choosePrograms({ ...exact, canBuild: false })).toMatchObject({ build: [], missing: wanted });
    const same = { ...assets, version: "v1.31.0" };
    expect(choosePrograms({ ...exact, assets: same, canBuild: true })).toMatchObject({ fromAssets: wanted, build: [] });
  });

  it("lists missing programs that can't be built", () => {
    const assets = { folder: "/assets", has: envtest, version: "v1.30.0" };
    const choice = choosePrograms({ ...open, wanted, assets, canBuild: false });
    expect(choice).toMatchObject({ fromAssets: envtest, build: [], missing: ["kube-controller-manager"] });
    expect(choice.note).toContain("no kube-controller-manager");
  });
});
