import { describe, expect, it } from "vitest";
import { lastStage } from "./dockerfile";
import { parseClosure } from "./downloads";
import { parseLdd } from "./programs";

const FROM = "FROM scratch\n";

describe("lastStage", () => {
  it("reads the last stage, and the arguments before the first stage", () => {
    const text = [
      "# a comment",
      "ARG VERSION=1.2",
      "FROM builder:${VERSION} AS build",
      "RUN make everything",
      "FROM base",
      "COPY --from=build /out/ /app/",
      "ENV A=1",
      "ENV B=*",
      "USER 65532:65532",
      "WORKDIR /app",
      "EXPOSE 80",
      'ENTRYPOINT ["/bin/a", "b c"]',
    ].join("\n");
    expect(lastStage(text)).toEqual({
      args: { VERSION: "1.2" },
      copies: [{ from: "/out/", to: "/app/" }],
      env: { A: "1", B: "*" },
      user: "65532:65532",
      workingDir: "/app",
      entrypoint: ["/bin/a", "b c"],
    });
  });

  it.each([
    ["a RUN instruction", "RUN apk add curl"],
    ["a copy from the sources", "COPY . /app"],
    ["several variables at once", "ENV A=1 B=2"],
    ["a shell around the program", "ENTRYPOINT node /app"],
    ["an unknown instruction", "HEALTHCHECK NONE"],
  ])("rejects %s, and quotes it", (_what, line) => {
    expect(() => lastStage(FROM + line)).toThrow(`not understood in the last stage of the Dockerfile: ${line}`);
  });

  it("rejects a file without a stage", () => {
    expect(() => lastStage("ARG A=1\n")).toThrow("no FROM in the Dockerfile");
  });
});

it("parseLdd finds the libraries and the loader, but not the kernel's own library", () => {
  const output = `\tlinux-vdso.so.1 (0x00007f0c95460000)
\tlibdl.so.2 => /lib/x86_64-linux-gnu/libdl.so.2 (0x00007f0c9544a000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f0c95462000)
`;
  expect(parseLdd(output)).toEqual(["/lib/x86_64-linux-gnu/libdl.so.2", "/lib64/ld-linux-x86-64.so.2"]);
});

it("parseClosure returns each real package once, without those that an image does not need", () => {
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
