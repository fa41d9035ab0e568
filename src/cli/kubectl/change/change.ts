import type { ControllerResilience, FlowStatus } from "../../../api/controller-resilience";
import { CLUSTER_KIND, GENERATED_FOR_LABEL, KIND, LEVELS_ANNOTATION } from "../../../api/names";
import { callOf, type Place, type Resource } from "../../../cluster/http/resources";
import { ConflictError } from "../../../core/errors";
import { arrayOf, type JsonObject, objectOf, textOf, textsOf } from "../../../core/json";
import { KINDS } from "../../../core/kinds";
import { modeOf, whyObserved } from "../../../core/remedy";
import { isManaged } from "../../../core/owned";
import { generatedFor } from "../../../engine/cluster-wide/generated";
import { CALL } from "../command";
import { CliError } from "../../streams";
import { confirm, Exit, type ExitCode } from "../terminal";
import type { OperatorState } from "../reader";
import type { Session } from "../session";

/** Flags of the commands that write. */
export interface ChangeFlags {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** A change of one object. */
interface Change {
  readonly resource: Resource;
  readonly place: Place;
  /** The object as it was read: its uid and version are the preconditions. */
  readonly object: JsonObject;
  /** JSON merge patch, without the preconditions. */
  readonly patch: JsonObject;
  /** What will happen, as whole sentences. */
  readonly consequence: string;
  /** What has happened, as one sentence without the full stop. */
  readonly done: string;
  /** Returns the object as it is now if the consequence still holds for it. Absent: another version is a conflict. */
  readonly again?: () => Promise<JsonObject | undefined>;
}

const FIELD_MANAGER = "kubectl-resilience";
const MOST_TRIES = 5;

/** Says what will happen, asks, and changes the object if it is still the same. */
export async function carryOut(session: Session, change: Change, flags: ChangeFlags): Promise<ExitCode> {
  const { output } = session;
  const isDryRun = flags.dryRun === true;
  if (isDryRun || flags.yes === true) {
    await output.note(change.consequence);
  }
  if (!isDryRun && !(await confirm(change.consequence, flags, session.io))) {
    await output.note("nothing was changed");
    return Exit.error;
  }
  await patch(session, change, isDryRun);
  await output.text(`${change.done}${isDryRun ? " (dry run: nothing was changed)" : ""}`);
  return Exit.ok;
}

async function patch(session: Session, { resource, place, patch, again, ...change }: Change, isDryRun: boolean) {
  let object: JsonObject | undefined = change.object;
  for (let tries = 1; ; tries++) {
    const { uid, resourceVersion } = objectOf(object["metadata"]);
    try {
      return await session.write({
        ...callOf("patch", resource, place),
        method: "PATCH",
        query: { fieldManager: FIELD_MANAGER, fieldValidation: "Strict", dryRun: isDryRun ? "All" : undefined },
        contentType: "application/merge-patch+json",
        body: { ...patch, metadata: { ...objectOf(patch["metadata"]), uid, resourceVersion } },
      });
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      object = tries < MOST_TRIES ? await again?.() : undefined;
      if (object === undefined)
        throw new CliError("the object has changed meanwhile, and nothing was written: try again");
    }
  }
}

/** Reads the object to change. @throws CliError if it does not exist */
export async function readOne(session: Session, resource: Resource, place: Place, what: string): Promise<JsonObject> {
  const object = await session.get(callOf("get", resource, place));
  if (object === null) throw new CliError(`${what} does not exist`);
  return object;
}

/** @throws CliError for an object that the operator generates: it would undo the change */
export function requireOwn(object: JsonObject, what: string, advice: (owner: string) => string): void {
  const { metadata } = object as unknown as ControllerResilience;
  const name = generatedFor({ metadata }) ?? metadata.labels?.[GENERATED_FOR_LABEL];
  if (name === undefined) return;
  throw new CliError(`${what} is generated for ${CLUSTER_KIND} ${name}, which would undo the change: ${advice(name)}`);
}

/** Field managers of the controllers of GitOps tools. */
const GITOPS: Readonly<Record<string, string>> = {
  "argocd-controller": "Argo CD",
  "kustomize-controller": "Flux",
  "helm-controller": "Flux",
};

/** Returns a sentence about the GitOps tool that manages an object, with a space before it; empty if none does. */
export function gitOpsWarning(object: JsonObject): string {
  const fields = arrayOf(objectOf(object["metadata"])["managedFields"]);
  const tool = fields.map(field => GITOPS[textOf(objectOf(field)["manager"]) ?? ""]).find(found => found !== undefined);
  return tool === undefined ? "" : ` ${tool} manages the object, and may undo this: change it in Git too.`;
}

/** A command line of this plugin for an object. */
export function commandFor(words: string, namespace?: string): string {
  return `${CALL} ${words}${namespace === undefined ? "" : ` -n ${namespace}`}`;
}

/** A throttled flow, and its object as the API server has it. */
interface Throttled {
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
  const isActed = operator?.leads !== false && !spec.suspend && modeOf(object) === "Enforce";
  return isActed ? bySpec(session, object) : await byFlowSchema(session, flow, object);
}

function bySpec(session: Session, object: Throttled["object"]): Change {
  const { namespace, name } = object.metadata;
  requireOwn(
    object,
    `${KIND} ${namespace}/${name}`,
    owner => `set spec.template.flowIsolation.requestRate.onRunaway of ccres ${owner} to Report`,
  );
  const now = object.spec.flowIsolation?.requestRate.onRunaway ?? "Throttle";
  if (now === "Report") throw new CliError("onRunaway is Report already: the operator is releasing it");
  const patch = JSON.stringify({ spec: { flowIsolation: { requestRate: { onRunaway: now } } } });
  const back = `kubectl patch cres ${name} -n ${namespace} --type merge -p '${patch}'`;
  const names = (object.status?.flows ?? []).filter(isThrottled).map(({ serviceAccount }) => serviceAccount);
  return {
    resource: KINDS[KIND],
    place: { namespace, name },
    object,
    patch: { spec: { flowIsolation: { requestRate: { onRunaway: "Report" } } } },
    consequence: `The operator will release every throttled flow of ${KIND} ${namespace}/${name} within seconds: ${names.join(", ")}. It then only reports runaways of this object, until you set onRunaway back to ${now}.${gitOpsWarning(object)}`,
    done: `${names.join(", ")}: onRunaway is Report; when the client is mended, set it back: ${session.command(back)}`,
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
  // An author of the status chooses the name.
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
    done: `ServiceAccount ${serviceAccount} is released; see ${session.command(commandFor(`explain serviceaccount/${serviceAccount}`, metadata.namespace))}`,
  };
}

function whyNotActed(object: ControllerResilience): string {
  if (object.spec.suspend) return "the object is suspended";
  const mode = modeOf(object);
  return mode === "Enforce" ? "no operator works" : whyObserved(mode);
}
