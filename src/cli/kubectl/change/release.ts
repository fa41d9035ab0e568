import type { ControllerResilience, FlowStatus } from "../../../api/controller-resilience";
import { ConditionType } from "../../../api/conditions";
import { KIND, LEVELS_ANNOTATION } from "../../../api/names";
import { type JsonObject, objectOf, textsOf } from "../../../core/json";
import { KINDS } from "../../../core/kinds";
import { modeIn, type ObserveMode, whyObserved } from "../../../core/mode";
import { isManaged } from "../../../core/owned";
import { CliError } from "../io";
import type { OperatorState } from "../operator";
import type { Session } from "../session";
import { type Change, commandFor, gitOpsWarning, readOne, requireOwn } from "./change";

/** A throttled flow, and its object as the API server has it. */
export interface Throttled {
  readonly object: JsonObject & ControllerResilience;
  readonly flow: FlowStatus;
}

/** Finds the throttled flow of a ServiceAccount. @throws CliError if there is none, or several */
export function findThrottled(objects: readonly ControllerResilience[], account: string, namespace: string): Throttled {
  const found = objects.flatMap(object =>
    (object.status?.flows ?? []).filter(isThrottled).map(flow => ({ object: object as Throttled["object"], flow })),
  );
  const mine = found.filter(({ flow }) => flow.serviceAccount === account);
  const [first, ...others] = mine;
  if (others.length > 0)
    throw new CliError(
      `several objects throttle ServiceAccount ${account}: ${mine.map(({ object }) => object.metadata.name).join(", ")}; report only in each (docs/remedies/flow-isolation.md)`,
    );
  if (first !== undefined) return first;
  const names = found.map(({ flow }) => flow.serviceAccount).join(", ");
  throw new CliError(`ServiceAccount ${account} of ${namespace} is not throttled; throttled are: ${names || "none"}`);
}

function isThrottled({ state }: FlowStatus): boolean {
  return state === "Throttled";
}

/**
 * Returns the change that ends a throttle. While an operator works, it would restore the FlowSchema, so it is told by the spec; else the
 * FlowSchema itself is changed.
 */
export async function releaseOf(
  session: Session,
  { object, flow }: Throttled,
  operator: OperatorState | undefined,
): Promise<Change> {
  const { spec } = object;
  const isActed =
    operator?.leads !== false && spec.mode === "Enforce" && !spec.suspend && observedAs(object) === undefined;
  return isActed ? bySpec(object) : await byFlowSchema(session, flow, object);
}

/** What wins over spec.mode, as status tells it. */
function observedAs({ status }: Pick<ControllerResilience, "status">): ObserveMode | undefined {
  return modeIn(status?.conditions?.find(({ type }) => type === ConditionType.Ready)?.message ?? "");
}

function bySpec(object: Throttled["object"]): Change {
  const { namespace, name } = object.metadata;
  requireOwn(
    object,
    `${KIND} ${namespace}/${name}`,
    owner => `set spec.template.flowIsolation.requestRate.onRunaway of ccres ${owner} to Report`,
  );
  const now = object.spec.flowIsolation?.requestRate.onRunaway ?? "Throttle";
  if (now === "Report") throw new CliError("onRunaway is Report already: the operator is releasing it");
  const names = (object.status?.flows ?? []).filter(isThrottled).map(({ serviceAccount }) => serviceAccount);
  return {
    resource: KINDS[KIND],
    place: { namespace, name },
    object,
    patch: { spec: { flowIsolation: { requestRate: { onRunaway: "Report" } } } },
    consequence: `The operator will release every throttled flow of ${KIND} ${namespace}/${name} within seconds: ${names.join(", ")}. It then only reports runaways of this object, until you set onRunaway back to ${now}.${gitOpsWarning(object)}`,
    done: `${names.join(", ")}: onRunaway is Report; when the client is mended, set it back: kubectl patch cres ${name} -n ${namespace} --type merge -p '${JSON.stringify({ spec: { flowIsolation: { requestRate: { onRunaway: now } } } })}'`,
  };
}

async function byFlowSchema(
  session: Session,
  { flowSchema, serviceAccount }: FlowStatus,
  object: ControllerResilience,
): Promise<Change> {
  const { metadata } = object;
  if (flowSchema === undefined) throw new CliError(`status names no FlowSchema of ServiceAccount ${serviceAccount}`);
  const place = { name: flowSchema };
  const raw = await readOne(session, KINDS.FlowSchema, place, `FlowSchema ${flowSchema}`);
  const { labels, annotations } = objectOf(raw["metadata"]);
  // Whoever may write status chooses the name.
  if (!isManaged({ labels: textsOf(labels) }))
    throw new CliError(`FlowSchema ${flowSchema}, which status names, was not made by the operator; it is not changed`);
  const [level] = (textsOf(annotations)[LEVELS_ANNOTATION] ?? "").split(",");
  if (level === undefined || level === "")
    throw new CliError(`FlowSchema ${flowSchema} has no annotation ${LEVELS_ANNOTATION}, so its level is unknown`);
  return {
    resource: KINDS.FlowSchema,
    place,
    object: raw,
    patch: { spec: { priorityLevelConfiguration: { name: level } } },
    consequence: `FlowSchema ${flowSchema} will refer to level ${level} again, so ServiceAccount ${metadata.namespace}/${serviceAccount} is no longer throttled. It is changed directly, because the operator would not: ${whyNotActed(object)}.`,
    done: `ServiceAccount ${serviceAccount} is released; see ${commandFor(`explain serviceaccount/${serviceAccount}`, metadata.namespace)}`,
  };
}

function whyNotActed(object: ControllerResilience): string {
  const { suspend, mode } = object.spec;
  if (suspend) return "the object is suspended";
  const observed = mode === "Observe" ? mode : observedAs(object);
  return observed === undefined ? "no operator works" : whyObserved(observed);
}
