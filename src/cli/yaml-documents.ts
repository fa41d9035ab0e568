import { LineCounter, parseAllDocuments } from "yaml";
import { oneLine } from "../core/text";
import { CliError } from "./streams";

/** Most characters of the text of a parser. */
const LONGEST = 200;

/** Returns the documents of a YAML or JSON file, without those that are empty. @throws CliError that says where it is neither */
export function readYaml(text: string, file: string): unknown[] {
  const lineCounter = new LineCounter();
  // A pretty error quotes the text in lines of its own.
  return parseAllDocuments(text, { lineCounter, prettyErrors: false }).flatMap(document => {
    const [error] = document.errors;
    if (error !== undefined) {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      throw errorOf(file, ` in line ${line}, column ${col}`, error);
    }
    return document.contents === null ? [] : [valueOf(document, file)];
  });
}

/** An alias without its anchor is found only here. */
function valueOf(document: { toJS(): unknown }, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw errorOf(file, "", error);
  }
}

function errorOf(file: string, place: string, error: unknown): CliError {
  const message = error instanceof Error ? error.message : "unknown";
  return new CliError(`${file}: expected YAML or JSON, got an error${place}: ${oneLine(message).slice(0, LONGEST)}`);
}
