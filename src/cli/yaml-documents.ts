import { LineCounter, parseAllDocuments } from "yaml";
import { oneLine } from "../core/text";

/** One document of a YAML or JSON text. */
export interface YamlDocument {
  readonly value: unknown;
  /** Number of the line on which its value begins. */
  readonly line: number;
}

/** A text that is neither YAML nor JSON: what was expected, what was found, and where. */
export class YamlError extends Error {}

/**
 * Returns the documents of a YAML or JSON text, without those that are empty.
 *
 * @throws YamlError
 */
export function readYaml(text: string): YamlDocument[] {
  const lineCounter = new LineCounter();
  // A pretty error quotes the text in lines of its own.
  return parseAllDocuments(text, { lineCounter, prettyErrors: false }).flatMap(document => {
    const [error] = document.errors;
    if (error !== undefined) {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      throw errorOf(` in line ${line}, column ${col}`, error);
    }
    const { contents } = document;
    if (contents === null) return [];
    return [{ value: valueOf(document), line: lineCounter.linePos(contents.range[0]).line }];
  });
}

/** An alias without its anchor is found only here. */
function valueOf(document: { toJS(): unknown }): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw errorOf("", error);
  }
}

function errorOf(place: string, error: unknown): YamlError {
  const message = error instanceof Error ? error.message : "unknown";
  return new YamlError(`expected YAML or JSON, got an error${place}: ${oneLine(message)}`);
}
