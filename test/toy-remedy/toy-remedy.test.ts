import ts from "typescript";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { FakeClock } from "../../src/core/testing/fake-clock";
import { EmptyReaders } from "../../src/core/testing/empty-readers";
import type { Remedy } from "../../src/core/remedy";
import type { WorkloadView } from "../../src/core/views";
import { makeObject, MemoryObjects, RecordingWriter } from "../../src/engine/testing/fakes";
import { makeReconciler } from "../../src/engine/testing/reconciler";
import { missingParts, partsIn } from "./parts";

// Adds a fifth remedy from its parts: a folder (files/), a block in the schema, a registry line, a sample, rights and a page. The engine runs it
// unchanged, and a missing part is a type error or a failure of the contract test that names it. CONTRIBUTING.md lists the same parts.

const ROOT = join(__dirname, "../..");
const KEY = "team/app";

class OneWorkload extends EmptyReaders {
  workloadView: WorkloadView = {
    ...{ kind: "Deployment", namespace: "team", name: "app", uid: "u1", resourceVersion: "1" },
    ...{ labels: {}, skip: false, serviceAccountName: "app", replicas: 1 },
  };
  override workload = (): Promise<WorkloadView> => Promise.resolve(this.workloadView);
}

/** The type checker knows the block only after it is in the schema; the engine does not depend on it. */
async function createToy(): Promise<Remedy> {
  const path = "./files/remedy";
  const { createToy: create } = (await import(path)) as { createToy: () => Remedy };
  return create();
}

it("a toy remedy in the engine observes, plans, writes and reports", async () => {
  const clock = new FakeClock();
  const store = new MemoryObjects();
  const writer = new RecordingWriter();
  const readers = new OneWorkload(clock);
  const spec = { targets: [{ kind: "Deployment", name: "app" }], toy: { label: "yes" } };
  store.put(makeObject(KEY, spec as never));
  const reconciler = makeReconciler({ store, writer, readers, remedies: [await createToy()] });
  const pass = async () => {
    await reconciler.reconcile(KEY, () => true);
    const { conditions = [], ...status } = store.objects.get(KEY)?.status ?? {};
    return { ...status, condition: conditions.find(({ type }) => type === "ToysLabeled") };
  };

  writer.answer = () => Promise.reject(new Error("no"));
  expect(await pass()).toMatchObject({
    condition: { status: "False", reason: "Unlabeled", message: "Deployment/app has no label toy." },
    toys: [{ workload: "Deployment/app", labeled: false }],
  });
  clock.advance(60_000);
  writer.answer = () => Promise.resolve();
  expect(await pass()).toMatchObject({
    condition: { status: "True", reason: "Labeled" },
    toys: [{ workload: "Deployment/app", labeled: true }],
  });
  expect(writer.written.at(-1)).toMatchObject({ verb: "patch", body: { metadata: { labels: { toy: "yes" } } } });
});

describe("a toy remedy without one of its parts", () => {
  const GENERATED = "src/api/generated/controller-resilience.ts";
  const REGISTRY = "src/remedies/registry.ts";
  const SAMPLES = "src/remedies/testing/samples.ts";
  const REMEDY = "test/toy-remedy/files/remedy.ts";
  const CHECKED = [REGISTRY, SAMPLES, REMEDY];

  const insert = (text: string, at: string, line: string): string => {
    expect(text).toContain(at);
    return text.replace(at, `${at}\n${line}`);
  };
  const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");

  /** What adding the toy changes in the files of the project, by the part that each change is. */
  const PARTS: Readonly<Record<string, readonly [file: string, change: (text: string) => string][]>> = {
    schema: [
      [
        GENERATED,
        text =>
          insert(
            insert(text, "export interface ControllerResilienceSpec {", "  toy?: { label: string };"),
            "export interface ControllerResilienceStatus {",
            "  toys?: { workload: string; labeled: boolean }[];",
          ),
      ],
    ],
    registry: [
      [
        REGISTRY,
        text =>
          insert(
            `import { createToy } from "../../test/toy-remedy/files/remedy";\n${text}`,
            "=> Remedy<Block> } = {",
            "  toy: () => createToy(),",
          ),
      ],
    ],
    sample: [
      [
        SAMPLES,
        text =>
          insert(
            `import { sample as toy } from "../../../test/toy-remedy/files/testing/sample";\n${text}`,
            "Record<RemedyBlock, RemedySample>> = {",
            "  toy,",
          ),
      ],
    ],
  };

  let options: ts.CompilerOptions;
  let previous: ts.Program | undefined;
  const sources = new Map<string, ts.SourceFile>();
  beforeAll(() => {
    const config = ts.readConfigFile(join(ROOT, "tsconfig.json"), path => ts.sys.readFile(path));
    options = {
      ...ts.parseJsonConfigFileContent(config.config, ts.sys, ROOT).options,
      noEmit: true,
      declaration: false,
    };
    delete options.emitDeclarationOnly;
    delete options.declarationMap;
  });

  /** Type errors of the project with the toy, after `edits` to its parts, as `file: message`. */
  function typeErrors(edits: ReadonlyMap<string, string>): string[] {
    const host = ts.createCompilerHost(options);
    const readSource = host.getSourceFile.bind(host);
    host.getSourceFile = (path, version, ...rest) => {
      const edited = edits.get(path);
      if (edited !== undefined) return ts.createSourceFile(path, edited, version);
      const known = sources.get(path) ?? readSource(path, version, ...rest);
      if (known !== undefined) sources.set(path, known);
      return known;
    };
    const program = ts.createProgram(
      CHECKED.map(file => join(ROOT, file)),
      options,
      host,
      previous,
    );
    previous = program;
    return CHECKED.flatMap(file => {
      const source = program.getSourceFile(join(ROOT, file));
      const found = program.getSemanticDiagnostics(source);
      return found.map(({ messageText }) => `${file}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`);
    });
  }

  function withParts(parts: readonly string[]): Map<string, string> {
    const edits = new Map<string, string>();
    for (const part of parts) {
      for (const [file, change] of PARTS[part] ?? []) edits.set(join(ROOT, file), change(read(file)));
    }
    return edits;
  }

  it("is complete with all of them", () => {
    expect(typeErrors(withParts(Object.keys(PARTS)))).toEqual([]);
  });

  it.each([
    ["schema", REMEDY, /"toy"/],
    ["registry", REGISTRY, /'toy' is missing/],
    ["sample", SAMPLES, /'toy' is missing/],
  ] as const)("names the missing %s in a type error", (part, file, words) => {
    const errors = typeErrors(withParts(Object.keys(PARTS).filter(name => name !== part)));
    expect(errors.filter(error => error.startsWith(file)).join("\n")).toMatch(words);
  });

  it.each(["condition", "reasons", "owns", "permissions", "observe", "plan", "report"])(
    "names a missing %s in a type error",
    field => {
      const edits = withParts(Object.keys(PARTS));
      const path = join(ROOT, REMEDY);
      const source = read(REMEDY);
      const without =
        field === "permissions"
          ? source.replace(/ {4}permissions: \[[^]*?\n {4}\],\n/, "")
          : source.replace(new RegExp(`^ {4}${field}\\b.*\\n`, "m"), "");
      expect(without).not.toBe(source);
      edits.set(path, without);
      expect(typeErrors(edits).join("\n")).toContain(`'${field}' is missing`);
    },
  );

  it("names the missing block, list, column and page in the contract test", async () => {
    expect(missingParts(await createToy(), partsIn(ROOT))).toEqual([
      "crds/controllerresilience.yaml has no block spec.toy",
      "crds/controllerresilience.yaml has no list status.toys",
      "crds/controllerresilience.yaml has no column for ToysLabeled",
      "docs/remedies/toy.md does not exist",
    ]);
  });
});
