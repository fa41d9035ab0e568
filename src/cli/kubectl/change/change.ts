import { CLUSTER_KIND, GENERATED_FOR_LABEL } from "../../../api/names";
import { describeCall, pathOf, type Place, type Resource } from "../../../cluster/http/resources";
import { ConflictError } from "../../../core/errors";
import { arrayOf, type JsonObject, objectOf, textOf, textsOf } from "../../../core/json";
import { CALL } from "../command";
import { CliError, Exit, type ExitCode } from "../io";
import type { Session } from "../session";

/** Flags of the commands that write. */
export interface ChangeFlags {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** A change of one object. */
export interface Change {
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
    session.progress.end();
    await output.note(change.consequence);
  }
  if (!isDryRun && !(await session.confirm(change.consequence, flags))) {
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
        what: describeCall("patch", resource, place),
        method: "PATCH",
        path: pathOf(resource, place),
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

/** Reads the object that is to be changed. @throws CliError if it does not exist */
export async function readOne(session: Session, resource: Resource, place: Place, what: string): Promise<JsonObject> {
  const object = await session.get({ what: describeCall("get", resource, place), path: pathOf(resource, place) });
  if (object === null) throw new CliError(`${what} does not exist`);
  return object;
}

/** @throws CliError for an object that the operator generates: it would undo the change */
export function requireOwn(object: JsonObject, what: string, advice: (owner: string) => string): void {
  const metadata = objectOf(object["metadata"]);
  const owner = arrayOf(metadata["ownerReferences"])
    .map(objectOf)
    .find(({ kind }) => kind === CLUSTER_KIND);
  const name = textOf(owner?.["name"]) ?? textsOf(metadata["labels"])[GENERATED_FOR_LABEL];
  if (name === undefined) return;
  throw new CliError(
    `${what} is generated for ${CLUSTER_KIND} ${name}, which would undo the change: ${advice(shellWord(name))}`,
  );
}

const ARGO = ["argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance"];
const FLUX = ["kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"];
const MANAGERS: Readonly<Record<string, string>> = {
  "argocd-controller": "Argo CD",
  "kustomize-controller": "Flux",
  "helm-controller": "Flux",
};

/** Returns a sentence about the GitOps tool that manages an object, with a space before it; empty if none does. */
export function gitOpsWarning(object: JsonObject): string {
  const tool = gitOpsToolOf(object);
  return tool === undefined ? "" : ` ${tool} manages the object, and may undo this: change it in Git too.`;
}

function gitOpsToolOf(object: JsonObject): string | undefined {
  const metadata = objectOf(object["metadata"]);
  const keys = { ...textsOf(metadata["labels"]), ...textsOf(metadata["annotations"]) };
  if (ARGO.some(key => key in keys)) return "Argo CD";
  if (FLUX.some(key => key in keys)) return "Flux";
  const managers = arrayOf(metadata["managedFields"]).map(field => textOf(objectOf(field)["manager"]) ?? "");
  return managers.map(manager => MANAGERS[manager]).find(tool => tool !== undefined);
}

/** Returns a text, quoted unless a shell takes it as one plain word. People copy commands, and an owner reference may name anything. */
export function shellWord(text: string): string {
  return /^[\w.:@/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A command line of this plugin for an object. */
export function commandFor(words: string, namespace?: string): string {
  return `${CALL} ${words}${namespace === undefined ? "" : ` -n ${namespace}`}`;
}
