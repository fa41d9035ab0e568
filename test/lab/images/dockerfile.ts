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

/** Instructions about the image or the build, which do not affect what runs. */
const WITHOUT_EFFECT = ["EXPOSE", "LABEL"];

/**
 * Reads the last stage of a Dockerfile with one instruction per line that can be built without Docker:
 * no RUN, and copies from other stages only.
 *
 * @throws Error that quotes the line that is not supported
 */
export function lastStage(text: string): DockerfileStage {
  const lines = text.split("\n").filter(line => /^[A-Z]/.test(line));
  const stage: DockerfileStage = { args: {}, copies: [], env: {}, user: "", workingDir: "/", entrypoint: [] };
  const first = lines.findIndex(isFrom);
  const last = lines.findLastIndex(isFrom);
  if (first < 0) throw new Error("no FROM in the Dockerfile");
  for (const line of lines.slice(0, first)) Object.assign(stage.args, assignment("ARG", line));
  for (const line of lines.slice(last + 1)) take(stage, line);
  return stage;
}

function isFrom(line: string): boolean {
  return line.startsWith("FROM ");
}

function take(stage: DockerfileStage, line: string): void {
  const [instruction = "", ...words] = line.trim().split(/\s+/);
  if (WITHOUT_EFFECT.includes(instruction)) return;
  const rest = words.join(" ");
  switch (instruction) {
    case "COPY":
      stage.copies.push(copy(line));
      break;
    case "ENV":
      Object.assign(stage.env, assignment("ENV", line));
      break;
    case "USER":
      stage.user = rest;
      break;
    case "WORKDIR":
      stage.workingDir = rest;
      break;
    case "ENTRYPOINT":
      stage.entrypoint = execForm(line, rest);
      break;
    default:
      throw notUnderstood(line);
  }
}

function copy(line: string): { from: string; to: string } {
  const [, from, to] = /^COPY --from=\S+ (\S+) (\S+)$/.exec(line) ?? [];
  if (from === undefined || to === undefined) throw notUnderstood(line);
  return { from, to };
}

function assignment(instruction: string, line: string): Record<string, string> {
  const [, name, value] = new RegExp(`^${instruction} (\\w+)=(\\S*)$`).exec(line) ?? [];
  if (name === undefined || value === undefined) throw notUnderstood(line);
  return { [name]: value };
}

/** The other form would run a shell between the program and its signals. */
function execForm(line: string, rest: string): string[] {
  if (!rest.startsWith("[")) throw notUnderstood(line);
  return JSON.parse(rest) as string[];
}

function notUnderstood(line: string): Error {
  return new Error(`not understood in the last stage of the Dockerfile: ${line}`);
}
