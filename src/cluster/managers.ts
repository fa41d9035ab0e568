import { MANAGER } from "../api/names";
import { type JsonObject, textOf, timeOf } from "./json";

/** Managers that write status or defaults, never what people mean. */
const CONTROL_PLANE = ["kube-controller-manager", "kube-apiserver"];

/** Whoever else wrote the object itself last, as its managedFields tell; undefined where nobody did. */
export function lastManagerOf(fields: readonly JsonObject[]): string | undefined {
  const others = fields.filter(entry => {
    const manager = textOf(entry["manager"]) ?? "";
    const isStatus = (textOf(entry["subresource"]) ?? "") !== "";
    return !isStatus && manager !== MANAGER && !CONTROL_PLANE.includes(manager);
  });
  const last = others.toSorted((a, b) => (timeOf(b["time"]) ?? 0) - (timeOf(a["time"]) ?? 0))[0];
  return textOf(last?.["manager"]);
}
