import { type JsonObject, numberOf, objectOf, parseObject, textOf } from "../../core/json";
import { errorOfRefusal, ExpiredError } from "../http/status-errors";
import { WaitError } from "../../core/errors";
import { MalformedError } from "./watch-end";

/** One line of a watch. */
export type WatchEvent =
  | { readonly type: "put"; readonly object: JsonObject; readonly resourceVersion: string }
  | { readonly type: "delete"; readonly object: JsonObject; readonly resourceVersion: string }
  | { readonly type: "bookmark"; readonly resourceVersion: string };

/**
 * Parses one line of a watch.
 *
 * @throws ExpiredError or WaitError for an ERROR event with such a status, else MalformedError; no message quotes the line
 */
export function parseWatchEvent(line: string): WatchEvent {
  const event = parseObject(line);
  if (event === undefined)
    throw new MalformedError("expected a JSON object in each line of the watch, got another text");
  const object = objectOf(event["object"]);
  if (event["type"] === "ERROR") throw errorOfEvent(object);
  const resourceVersion = textOf(objectOf(object["metadata"])["resourceVersion"]);
  if (resourceVersion === undefined) throw new MalformedError("expected a resourceVersion in a watch event, got none");
  switch (event["type"]) {
    case "ADDED":
    case "MODIFIED":
      return { type: "put", object, resourceVersion };
    case "DELETED":
      return { type: "delete", object, resourceVersion };
    case "BOOKMARK":
      return { type: "bookmark", resourceVersion };
    default:
      throw new MalformedError(
        "expected ADDED, MODIFIED, DELETED, BOOKMARK or ERROR in a watch event, got another type",
      );
  }
}

/** 410 and 429 keep their meaning; after any other error the stream is not trustworthy. */
function errorOfEvent(status: JsonObject): Error {
  const error = errorOfRefusal({ code: numberOf(status["code"]) ?? 500, status }, "watch");
  if (error instanceof ExpiredError || error instanceof WaitError) return error;
  return new MalformedError(error.message, { cause: error });
}
