import { describe, expect, it } from "vitest";
import { mountsBelow } from "./down";

const mount = (point: string) => `40 24 0:30 / ${point} rw - tmpfs tmpfs rw`;

describe("mountsBelow", () => {
  it("lists the mounts at or below the folder, the innermost first", () => {
    const mountinfo = [mount("/"), mount("/labs/a"), mount("/labs/a/x"), mount("/labs/a/x/y")].join("\n");
    expect(mountsBelow(mountinfo, "/labs/a")).toEqual(["/labs/a/x/y", "/labs/a/x", "/labs/a"]);
  });

  it("skips a folder whose name only has the same prefix", () => {
    expect(mountsBelow(mount("/labs/ab"), "/labs/a")).toEqual([]);
  });

  it("decodes the kernel's escape of a space", () => {
    expect(mountsBelow(mount("/labs/a/my\\040disk"), "/labs/a")).toEqual(["/labs/a/my disk"]);
  });
});
