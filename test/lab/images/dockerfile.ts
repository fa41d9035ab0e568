/** The files and metadata that the last stage of a Dockerfile adds to an image. */
export interface DockerfileStage {
  /** Defaults of `ARG NAME=default` before the first stage. */
  args: Record<string, string>;
  /** Paths in the earlier stage, and their targets; both as written in the file. */
  copies: { from: string; to: string }[];
  env: Record<string, string>;
  user: string;
  workingDir: string;
  entrypoint: string[];
}

/**
 * Reads the last stage of a Dockerfile with one instruction per line that can be built without Docker:
 * no RUN, and copies from other stages only.
 *
 * @throws Error that quotes the line that is not supported
 */
export function lastStage(text: string): DockerfileStage {
  const lines = text.split("\n").filter(line => /^[A-Z]/.test(line));
  const isFrom = (line: string): boolean => line.startsWith("FROM ");
  const first = lines.findIndex(isFrom);
  if (first < 0) throw new Error("no FROM in the Dockerfile");
  const stage: DockerfileStage = { args: {}, copies: [], env: {}, user: "", workingDir: "/", entrypoint: [] };
  for (const line of lines.slice(0, first)) read(line, INSTRUCTIONS.slice(0, 1), stage);
  for (const line of lines.slice(lines.findLastIndex(isFrom) + 1)) read(line, INSTRUCTIONS.slice(1), stage);
  return stage;
}

type Instruction = readonly [RegExp, (stage: DockerfileStage, first: string, second: string) => unknown];

/** ARG is for the lines before the first stage. Without brackets an entry point would run a shell between the program and its signals. */
const INSTRUCTIONS: readonly Instruction[] = [
  [/^ARG (\w+)=(\S*)$/, (stage, name, value) => (stage.args[name] = value)],
  [/^COPY --from=\S+ (\S+) (\S+)$/, (stage, from, to) => stage.copies.push({ from, to })],
  [/^ENV (\w+)=(\S*)$/, (stage, name, value) => (stage.env[name] = value)],
  [/^USER (.*)$/, (stage, user) => (stage.user = user)],
  [/^WORKDIR (.*)$/, (stage, folder) => (stage.workingDir = folder)],
  [/^ENTRYPOINT (\[.*)$/, (stage, argv) => (stage.entrypoint = JSON.parse(argv) as string[])],
  // These do not affect what runs.
  [/^(EXPOSE|LABEL) /, () => undefined],
];

function read(line: string, instructions: readonly Instruction[], stage: DockerfileStage): void {
  for (const [pattern, take] of instructions) {
    const [found, first = "", second = ""] = pattern.exec(line.trim()) ?? [];
    if (found !== undefined) return void take(stage, first, second);
  }
  throw new Error(`not understood in the last stage of the Dockerfile: ${line}`);
}
