import { type Command, Option } from "commander";
import type { ControllerResilience } from "../../../api/controller-resilience";
import { CLUSTER_KIND, KIND } from "../../../api/names";
import { callOf } from "../../../cluster/http/resources";
import { ConflictError } from "../../../core/errors";
import { arrayOf, type JsonObject, objectOf, textOf } from "../../../core/json";
import { KINDS } from "../../../core/kinds";
import { capitalize } from "../../../core/remedy";
import { generatedFor } from "../../../engine/cluster-wide/generated";
import { addClusterCommand, commandFor, type Flags, type Shell } from "../command";
import { CliError } from "../../streams";
import { confirm, Exit, type ExitCode } from "../terminal";
import type { Session } from "../session";
import { describeSubject, parseSubject } from "../subject";

interface ChangeFlags {
  readonly yes?: boolean;
}

/** `suspend` and `resume`: pause every remedy of an object, and let them go on. */
export function registerSuspend(program: Command, shell: Shell): void {
  for (const [verb, summary] of [
    ["suspend", "pause every remedy of an object"],
    ["resume", "let the remedies of a suspended object go on"],
  ] as const)
    addClusterCommand<ChangeFlags>(program, shell, {
      usage: `${verb} <name>`,
      summary,
      description: `${capitalize(verb)} a ControllerResilience, or with ccres/NAME a ClusterControllerResilience.`,
      examples: [
        [`${verb} my-scheduler -n shop`, "a ControllerResilience"],
        [`${verb} ccres/all --yes`, "a ClusterControllerResilience, from a script"],
      ],
      options: [new Option("-y, --yes", "do not ask; needed without a terminal")],
      run: (session, flags, [name = ""]) => setSuspend(session, flags, name, verb),
    });
}

/** Says what will happen, asks, and changes the object if it is still the same. */
async function setSuspend(
  session: Session,
  flags: Flags<ChangeFlags>,
  name: string,
  verb: "suspend" | "resume",
): Promise<ExitCode> {
  const { output } = session;
  const subject = parseSubject(name, session.namespace);
  const what = describeSubject(subject);
  if (subject.kind !== KIND && subject.kind !== CLUSTER_KIND)
    throw new CliError(`expected NAME or ccres/NAME, got ${what}`);
  await session.requireCrd();
  const resource = KINDS[subject.kind];
  const place = { namespace: subject.namespace, name: subject.name };
  const object = await session.get(callOf("get", resource, place));
  if (object === null) throw new CliError(`${what} does not exist`);
  requireOwn(object, what, owner => session.command(commandFor(`${verb} ccres/${owner}`)));
  const suspend = verb === "suspend";
  const done = suspend ? "suspended" : "resumed";
  if ((objectOf(object["spec"])["suspend"] === true) === suspend) {
    await output.text(`nothing to do: ${what} is ${suspend ? "suspended already" : "not suspended"}`);
    return Exit.ok;
  }
  const effect = suspend
    ? "No remedy will read, decide or change anything for it. Throttles stay until it is resumed, and tokens and bindings may expire."
    : "Its remedies act again, as spec.mode and the operator's --mode say.";
  const consequence = `${what} will be ${done}. ${effect}${gitOpsWarning(object)}`;
  if (flags.yes === true) await output.note(consequence);
  else if (!(await confirm(consequence, session.io))) {
    await output.note("nothing was changed");
    return Exit.error;
  }
  const { uid, resourceVersion } = objectOf(object["metadata"]);
  await patch(session, callOf("patch", resource, place), { spec: { suspend }, metadata: { uid, resourceVersion } });
  await output.text(`${what} is ${done}`);
  return Exit.ok;
}

/** Patches an object. Its uid and version in the body are the preconditions. @throws CliError if it has changed */
async function patch(session: Session, call: ReturnType<typeof callOf>, body: JsonObject): Promise<void> {
  try {
    await session.write({
      ...call,
      method: "PATCH",
      query: { fieldManager: "kubectl-resilience", fieldValidation: "Strict" },
      contentType: "application/merge-patch+json",
      body,
    });
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    throw new CliError("the object has changed meanwhile, and nothing was written: try again");
  }
}

/** @throws CliError for an object that the operator generates: it would undo the change */
function requireOwn(object: JsonObject, what: string, advice: (owner: string) => string): void {
  const name = generatedFor(object as unknown as ControllerResilience);
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
function gitOpsWarning(object: JsonObject): string {
  const fields = arrayOf(objectOf(object["metadata"])["managedFields"]);
  const tool = fields.map(field => GITOPS[textOf(objectOf(field)["manager"]) ?? ""]).find(found => found !== undefined);
  return tool === undefined ? "" : ` ${tool} manages the object, and may undo this: change it in Git too.`;
}
