import { arrayOf, objectOf, textOf } from "../../../src/core/json";
import type { Obj } from "./objects";
import { find, numberIn } from "./reads";
import type { Call, LogOptions, Served, World } from "./serve";
import { notFound } from "./store";
import { badRequest, type Fault, invalid } from "./validation";

/** get pods/log. @throws Refusal */
export function readLog({ store, runtime }: World, call: Call): Served {
  const { info, ask } = call;
  const { query } = ask;
  const pod = find(store, call);
  if (pod === undefined) throw notFound(info, ask.name ?? "");
  const options = optionsOf(query);
  const faults = faultsOf(options);
  if (faults.length > 0) throw invalid({ ...info, kind: "PodLogOptions" }, ask.name ?? "", faults);
  const container = containerOf(pod, query.get("container") ?? "");
  if ((textOf(objectOf(pod["spec"])["nodeName"]) ?? "") === "")
    return { code: 204, body: "", contentType: "text/plain" };
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
  const flag = (name: string): boolean => ["true", "1"].includes(query.get(name) ?? "");
  const numbers = ["sinceSeconds", "tailLines", "limitBytes"].map(name => [name, numberIn(query, name)] as const);
  const sinceTime = query.get("sinceTime") ?? "";
  if (sinceTime !== "" && Number.isNaN(Date.parse(sinceTime)))
    throw badRequest(`parsing time "${sinceTime}" as "2006-01-02T15:04:05Z07:00": cannot parse`);
  return {
    ...Object.fromEntries(numbers.filter(([, value]) => value !== undefined)),
    ...(sinceTime !== "" && { sinceTime }),
    ...(flag("timestamps") && { timestamps: true }),
    ...(flag("previous") && { previous: true }),
  };
}

function faultsOf({ sinceTime, sinceSeconds, tailLines, limitBytes }: LogOptions): Fault[] {
  const fault = (field: string, value: unknown, why: string): Fault => ({
    field,
    message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
    reason: "FieldValueInvalid",
  });
  const faults: Fault[] = [];
  if (tailLines !== undefined && tailLines < 0)
    faults.push(fault("tailLines", tailLines, "must be greater than or equal to 0"));
  if (limitBytes !== undefined && limitBytes < 1)
    faults.push(fault("limitBytes", limitBytes, "must be greater than 0"));
  if (sinceSeconds !== undefined && sinceTime !== undefined)
    faults.push({
      field: "[]",
      message: "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
      reason: "FieldValueForbidden",
    });
  else if (sinceSeconds !== undefined && sinceSeconds < 1)
    faults.push(fault("sinceSeconds", sinceSeconds, "must be greater than 0"));
  return faults;
}

function containerOf({ metadata, spec }: Obj, wanted: string): string {
  const namesOf = (field: string): string[] =>
    arrayOf(objectOf(spec)[field]).map(one => textOf(objectOf(one)["name"]) ?? "");
  const [main, init] = [namesOf("containers"), namesOf("initContainers")];
  const all = [...main, ...init, ...namesOf("ephemeralContainers")];
  if (wanted !== "") {
    if (all.includes(wanted)) return wanted;
    throw badRequest(`container ${wanted} is not valid for pod ${metadata.name}`);
  }
  if (all.length === 1) return all[0]!;
  const more = init.length > 0 ? ` or one of the init containers: [${init.join(" ")}]` : "";
  throw badRequest(
    `a container name must be specified for pod ${metadata.name}, choose one of: [${main.join(" ")}]${more}`,
  );
}
