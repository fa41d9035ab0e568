import { describe, expect, it } from "vitest";
import { isDebian, missingPackages, NODE_REQUIREMENTS } from "./packages";

describe("missingPackages", () => {
  it("checks files, so that a containerd from another source suffices", () => {
    const found = (file: string) => !["bridge", "busybox"].includes(file);
    expect(missingPackages(NODE_REQUIREMENTS, found)).toEqual(["containernetworking-plugins", "busybox-static"]);
  });

  it("names a package when one of its files is missing", () => {
    expect(missingPackages([{ package: "x", files: ["a", "b"] }], file => file === "a")).toEqual(["x"]);
  });
});

describe("isDebian", () => {
  it.each([
    ["Debian", "PRETTY_NAME=Debian\nID=debian\n", true],
    ["Ubuntu", "ID=ubuntu\nID_LIKE=debian\n", true],
    ["Mint", 'ID=linuxmint\nID_LIKE="ubuntu debian"\n', true],
    ["Fedora", "ID=fedora\nHOME_URL=https://debian.example\n", false],
    ["nothing", "", false],
  ])("knows %s", (_, osRelease, expected) => {
    expect(isDebian(osRelease)).toBe(expected);
  });
});
