import { describe, expect, it } from "vitest";
import { parseClosure } from "./debian";
import { parseLdd } from "./node";

describe("parseLdd", () => {
  it("finds the libraries and the loader, but not the kernel's own library", () => {
    const output = `\tlinux-vdso.so.1 (0x00007f0c95460000)
\tlibdl.so.2 => /lib/x86_64-linux-gnu/libdl.so.2 (0x00007f0c9544a000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f0c95462000)
`;
    expect(parseLdd(output)).toEqual(["/lib/x86_64-linux-gnu/libdl.so.2", "/lib64/ld-linux-x86-64.so.2"]);
  });
});

describe("parseClosure", () => {
  it("returns each real package once, without those that an image does not need", () => {
    const output = `python3-yaml
  Depends: python3
  Depends: <python3:any>
    python3
python3
libc6
libc6
perl-base
debconf
<debconf-2.0>
`;
    expect(parseClosure(output)).toEqual(["libc6", "python3", "python3-yaml"]);
  });
});
