import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stringify } from "yaml";
import { must } from "../lab/commands";

const PERSON = ["-c", "user.name=test", "-c", "user.email=test@example.com"];

/** Objects, or text, by the path of their file. */
export type Files = Readonly<Record<string, readonly object[] | string>>;

/** A Git repository in a folder of this machine, with one branch: main. */
export class Repository {
  private constructor(
    private readonly folder: string,
    readonly url: string,
  ) {}

  /** @param url where a server serves it */
  static async create(folder: string, url = `file://${folder}`): Promise<Repository> {
    mkdirSync(folder, { recursive: true });
    const repository = new Repository(folder, url);
    await repository.git("init", "--quiet", "--initial-branch=main");
    return repository;
  }

  /** Copies a folder into the work tree; commit makes it part of the repository. */
  copy(from: string, to: string): void {
    cpSync(from, join(this.folder, to), { recursive: true });
  }

  /** Writes files and commits the work tree. Files without objects are removed. Returns the commit. */
  async commit(files: Files): Promise<string> {
    for (const [path, content] of Object.entries(files)) {
      const file = join(this.folder, path);
      mkdirSync(dirname(file), { recursive: true });
      if (content.length === 0) rmSync(file, { force: true });
      else
        writeFileSync(file, typeof content === "string" ? content : content.map(one => stringify(one)).join("---\n"));
    }
    await this.git("add", "--all");
    await this.git(...PERSON, "commit", "--quiet", "--allow-empty", "--message=change");
    return (await this.git("rev-parse", "HEAD")).trim();
  }

  private git(...args: string[]): Promise<string> {
    return must(["git", "-C", this.folder, ...args]);
  }
}
