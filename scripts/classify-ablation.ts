// `npm run classify:ablation` switches off one rule of the classifier after the other, and prints how many labelled records each of them alone decides,
// with an example. A rule is a function that answers yes or no (or with what it found), a check of the checklist, or a list of words.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { runInThisContext } from "node:vm";

const root = join(__dirname, "..");
const folder = join(root, "src/logs/classifier");

/** How text is cut and searched. These files have no rule. */
const MECHANICS = new Set(["text.ts", "unwrap.ts", "literals.ts"]);

/** A record and its class. */
export interface Labelled {
  readonly label: string;
  readonly family: string;
  readonly line: string;
}

/** Returns the labelled records: those that the rules were written from, and those of other programs. */
export function labelledRecords(): Labelled[] {
  return ["log-records.jsonl", "held-out-records.jsonl", "reported-records.jsonl"].flatMap(file =>
    readFileSync(join(root, "test/fixtures", file), "utf8")
      .trimEnd()
      .split("\n")
      .map(line => JSON.parse(line) as Labelled)
      .map(record =>
        ["other-401", "noise", "watch-ended"].includes(record.label) ? { ...record, label: "none" } : record,
      ),
  );
}

/** A rule, and the records that have another class without it. */
export interface Decided {
  readonly rule: string;
  readonly records: readonly Labelled[];
}

/** Switches off one rule after the other. Looks for at most `most` records per rule. */
export function* ablate(most = Infinity): Generator<Decided> {
  const switches = new Switches();
  const classify = load("classify", switches, new Map())["classify"] as (record: string) => string;
  const users = new Map<string, Labelled[]>();
  for (const record of labelledRecords()) {
    switches.used.clear();
    classify(record.line);
    for (const rule of switches.used) users.set(rule, [...(users.get(rule) ?? []), record]);
  }
  for (const rule of switches.names) {
    switches.off = rule;
    const records: Labelled[] = [];
    for (const record of users.get(rule) ?? []) {
      if (records.length === most) break;
      if (classify(record.line) !== record.label) records.push(record);
    }
    yield { rule, records };
  }
}

type Function_ = (...args: unknown[]) => unknown;

/** Which rule is off, and which had an effect on the last record. */
class Switches {
  off = "";
  readonly names: string[] = [];
  readonly used = new Set<string>();

  /** Returns a function that answers `none` while its rule is off. */
  ofFunction(rule: string, original: Function_, none: unknown): Function_ {
    if (!this.names.includes(rule)) this.names.push(rule);
    return (...args) => {
      const answer = original(...args);
      const isNone = Array.isArray(answer) ? answer.length === 0 : answer === none;
      if (!isNone) this.used.add(rule);
      return this.off === rule ? none : answer;
    };
  }

  /** Switches each check of a checklist, and makes a list of words empty while its rule is off. */
  ofVariable(rule: string, value: unknown): void {
    if (!Array.isArray(value) && !(value instanceof Set)) return;
    for (const [index, check] of Array.from(value as Iterable<{ class: string; holds?: Function_ }>).entries())
      if (check.holds !== undefined)
        check.holds = this.ofFunction(`${rule}[${index}], ${check.class}`, check.holds, false);
    for (const [method, none] of Object.entries({
      has: false,
      some: false,
      includes: false,
      find: undefined,
      map: [],
    })) {
      const original = (value as unknown as Record<string, Function_>)[method];
      if (original !== undefined && !rule.endsWith(" CHECKLIST"))
        Object.defineProperty(value, method, { value: this.ofFunction(rule, original.bind(value), none) });
    }
  }
}

/** Loads a module of the classifier and what it imports, with a switch for each rule. */
function load(name: string, switches: Switches, loaded: Map<string, Record<string, unknown>>): Record<string, unknown> {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const file = `${name}.ts`;
  const text = readFileSync(join(folder, file), "utf8");
  const module = ts.ModuleKind.CommonJS;
  const { outputText } = ts.transpileModule(text, { compilerOptions: { module, target: ts.ScriptTarget.ES2022 } });
  const exported: Record<string, unknown> = {};
  loaded.set(name, exported);
  const code = `(function (exports, require, switches) {${outputText}\n${MECHANICS.has(file) ? "" : switching(file, text)}})`;
  const run = runInThisContext(code, { filename: file }) as Function_;
  run(exported, (path: string) => load(path.slice("./".length), switches, loaded), switches);
  return exported;
}

/** Returns the statements that put switches into a module. */
function switching(file: string, text: string): string {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  return source.statements
    .map(statement => {
      if (ts.isFunctionDeclaration(statement)) {
        const name = statement.name?.text ?? "";
        const none = noneOf(statement.type?.getText(source) ?? "");
        if (none === undefined) return "";
        const switched = `${name} = switches.ofFunction("${file} ${name}", ${name}, ${none});`;
        return isExported(statement) ? `exports.${name} = ${switched}` : switched;
      }
      if (!ts.isVariableStatement(statement)) return "";
      const names = statement.declarationList.declarations.map(({ name }) => name.getText(source));
      const prefix = isExported(statement) ? "exports." : "";
      return names.map(name => `switches.ofVariable("${file} ${name}", ${prefix}${name});`).join("\n");
    })
    .join("\n");
}

function isExported({ modifiers }: ts.FunctionDeclaration | ts.VariableStatement): boolean {
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
}

/** What a function of this type answers where it finds nothing; undefined if it always finds something. */
function noneOf(type: string): string | undefined {
  if (type === "boolean") return "false";
  if (type.endsWith("| null")) return "null";
  if (type.endsWith("| undefined")) return "undefined";
  return type.endsWith("[]") ? "[]" : undefined;
}

function main(): void {
  for (const { rule, records } of ablate()) {
    console.log(`${String(records.length).padStart(5)}  ${rule}`);
    for (const { label, line } of records.slice(0, 1)) console.log(`       ${label}: ${line.slice(0, 160)}`);
  }
}

if (process.argv[1] === __filename) main();
