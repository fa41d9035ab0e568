import { arrayOf, objectOf } from "../../../src/core/json";
import { find, numberIn } from "./reads";
import type { LogOptions } from "../cluster/log-store";
import type { Call, Served, World } from "./serve";
import { notFound, badRequest } from "./validation";

/** get pods/log. @throws Refusal */
export function readLog({ store, runtime }: World, call: Call): Served {
  const { info, ask } = call;
  const { query } = ask;
  const pod = find(store, call);
  if (pod === undefined) throw notFound(info, ask.name ?? "");
  const options = optionsOf(query);
  const container = query.get("container") ?? "";
  const fields = ["containers", "initContainers", "ephemeralContainers"];
  const all = fields.flatMap(field => arrayOf(pod.spec?.[field]));
  if (!all.some(one => objectOf(one)["name"] === container))
    throw badRequest(`container ${container} is not valid for pod ${pod.metadata.name}`);
  if ((pod.spec?.nodeName ?? "") === "") return { code: 204, body: "", contentType: "text/plain" };
  const text = runtime.logs(pod, container, options);
  if (text !== undefined) return { code: 200, body: text, contentType: "text/plain" };
  const what = `container "${container}" in pod "${pod.metadata.name}"`;
  throw badRequest(
    options.previous === true
      ? `previous terminated ${what} not found`
      : `${what} is waiting to start: ContainerCreating`,
  );
}

function optionsOf(query: URLSearchParams): LogOptions {
  const numbers = ["tailLines", "limitBytes"].map(name => [name, numberIn(query, name)] as const);
  const sinceTime = query.get("sinceTime") ?? "";
  return {
    ...Object.fromEntries(numbers.filter(([, value]) => value !== undefined)),
    ...(sinceTime !== "" && { sinceTime }),
    ...(query.get("timestamps") === "true" && { timestamps: true }),
    ...(query.get("previous") === "true" && { previous: true }),
  };
}
