import { describe, expect, it } from "vitest";
import { lastStage } from "./dockerfile";

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
