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
 * @throws ExpiredError or WaitError for an ERROR event that says so, MalformedError for any other and for what is no event;
 *   its message holds nothing of the line
 */
export function parseWatchEvent(line: string): WatchEvent {
  const event = parseObject(line);
  if (event === undefined) throw new MalformedError("a line of the watch is no JSON object");
  const object = objectOf(event["object"]);
  if (event["type"] === "ERROR") throw errorOfEvent(object);
  const resourceVersion = textOf(objectOf(object["metadata"])["resourceVersion"]);
  if (resourceVersion === undefined) throw new MalformedError("an event of the watch has no resourceVersion");
  switch (event["type"]) {
    case "ADDED":
    case "MODIFIED":
      return { type: "put", object, resourceVersion };
    case "DELETED":
      return { type: "delete", object, resourceVersion };
    case "BOOKMARK":
      return { type: "bookmark", resourceVersion };
    default:
      throw new MalformedError("an event of the watch has an unknown type");
  }
}

/** 410 and 429 mean what they mean as an answer; after anything else the stream is not to be trusted. */
function errorOfEvent(status: JsonObject): Error {
  const error = errorOfRefusal({ code: numberOf(status["code"]) ?? 500, status }, "watch");
  if (error instanceof ExpiredError || error instanceof WaitError) return error;
  return new MalformedError(error.message, { cause: error });
}
