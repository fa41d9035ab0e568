import { type Command, Option } from "commander";
import type { ControllerResilience } from "../../../api/controller-resilience";
import { BREAKER_ANNOTATION, CLUSTER_KIND, KIND, MANAGER } from "../../../api/names";
import { objectOf, textsOf } from "../../../core/json";
import { KINDS } from "../../../core/kinds";
import { capitalize } from "../../../core/remedy";
import { addClusterCommand, type Flags, helpOf, type Shell } from "../command";
import { operatorOption } from "../explain/command";
import { CliError } from "../../streams";
import { Exit, type ExitCode, safeText } from "../terminal";
import { operatorState, PartialReader } from "../reader";
import type { Session } from "../session";
import { describeSubject, parseSubject } from "../subject";
import {
  carryOut,
  type ChangeFlags,
  commandFor,
  gitOpsWarning,
  readOne,
  requireOwn,
  findThrottled,
  releaseOf,
} from "./change";

interface OperatorFlags extends ChangeFlags {
  readonly operatorNamespace: string;
}

const OPTIONS = [
  new Option("-y, --yes", "do not ask; needed without a terminal"),
  new Option("--dry-run", "let the API server check the change, and store nothing"),
];

const RESET_EXAMPLES = [["breaker reset", "after the cause is found"]] as const;

/** `breaker reset`: lets unproven restarts go on. */
export function registerBreaker(program: Command, shell: Shell): void {
  const breaker = program
    .command("breaker")
    .summary("reset the restart breaker")
    .description("The restart breaker stops restarts without proof, in the whole cluster.")
    .addHelpText("after", helpOf(RESET_EXAMPLES));
  addClusterCommand<OperatorFlags>(breaker, shell, {
    usage: "reset",
    summary: "let restarts without proof go on",
    description:
      "Reset the restart breaker: remove its annotation from the operator's Lease. Find out first why the restarts did not help.",
    examples: RESET_EXAMPLES,
    options: [...OPTIONS, operatorOption()],
    run: resetBreaker,
  });
}

async function resetBreaker(session: Session, flags: Flags<OperatorFlags>): Promise<ExitCode> {
  const place = { namespace: flags.operatorNamespace, name: MANAGER };
  const what = `Lease ${place.namespace}/${place.name}`;
  const lease = await readOne(session, KINDS.Lease, place, what);
  const { breaker } = operatorState(lease, place.namespace, session.clock.now().getTime());
  if (breaker === undefined)
    return nothingToDo(session, `nothing to reset: the restart breaker is not tripped (${what})`);
  const tripped = textsOf(objectOf(lease["metadata"])["annotations"])[BREAKER_ANNOTATION];
  return carryOut(
    session,
    {
      resource: KINDS.Lease,
      place,
      object: lease,
      patch: { metadata: { annotations: { [BREAKER_ANNOTATION]: null } } },
      consequence: `The restart breaker is tripped: ${safeText(breaker)}. After the reset the operator restarts pods on log evidence again, in the whole cluster, one at a time.`,
      done: "the restart breaker is reset",
      // The holder renews the Lease every few seconds.
      again: async () => {
        const now = await readOne(session, KINDS.Lease, place, what);
        return textsOf(objectOf(now["metadata"])["annotations"])[BREAKER_ANNOTATION] === tripped ? now : undefined;
      },
    },
    flags,
  );
}

/** A script may repeat a command. */
async function nothingToDo({ output }: Session, sentence: string): Promise<ExitCode> {
  await output.text(sentence);
  return Exit.ok;
}

/** `release`: ends a throttle early. */
export function registerRelease(program: Command, shell: Shell): void {
  addClusterCommand<OperatorFlags>(program, shell, {
    usage: "release <serviceaccount>",
    summary: "end the throttle of a ServiceAccount early",
    description:
      "End a throttle of flowIsolation early. While an operator works, onRunaway of the object becomes Report, which releases every flow of the object; otherwise the FlowSchema is changed. Fix the client first.",
    examples: [
      ["release my-scheduler -n shop", "ServiceAccount my-scheduler of namespace shop"],
      ["release my-scheduler -n shop --dry-run", "only say what would happen"],
    ],
    options: [...OPTIONS, operatorOption()],
    run: runRelease,
  });
}

async function runRelease(
  session: Session,
  flags: Flags<OperatorFlags>,
  [account = ""]: readonly string[],
): Promise<ExitCode> {
  await session.requireCrd();
  const { namespace } = session;
  const request = { resource: KINDS[KIND], place: { namespace } };
  const objects = await session.list(request, raw => raw as unknown as ControllerResilience);
  const throttled = findThrottled(objects, account.replace(/^(serviceaccount|sa)\//, ""), namespace);
  const operator = await new PartialReader(session).operator(flags.operatorNamespace);
  return carryOut(session, await releaseOf(session, throttled, operator), flags);
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
      options: OPTIONS,
      run: (session, flags, [name = ""]) => setSuspend(session, flags, name, verb === "suspend"),
    });
}

async function setSuspend(
  session: Session,
  flags: Flags<ChangeFlags>,
  name: string,
  suspend: boolean,
): Promise<ExitCode> {
  const subject = parseSubject(name, session.namespace);
  const what = describeSubject(subject);
  if (subject.kind !== KIND && subject.kind !== CLUSTER_KIND)
    throw new CliError(`expected NAME or ccres/NAME, got ${what}`);
  await session.requireCrd();
  const resource = KINDS[subject.kind];
  const place = { namespace: subject.namespace, name: subject.name };
  const object = await readOne(session, resource, place, what);
  const verb = suspend ? "suspend" : "resume";
  requireOwn(object, what, owner => session.command(commandFor(`${verb} ccres/${owner}`)));
  if ((objectOf(object["spec"])["suspend"] === true) === suspend)
    return nothingToDo(session, `nothing to do: ${what} is ${suspend ? "suspended already" : "not suspended"}`);
  const effect = suspend
    ? "No remedy will read, decide or change anything for it. Throttles stay until it is resumed, and tokens and bindings may expire."
    : "Its remedies act again, as spec.mode and the operator's --mode say.";
  return carryOut(
    session,
    {
      resource,
      place,
      object,
      patch: { spec: { suspend } },
      consequence: `${what} will be ${verb}${suspend ? "ed" : "d"}. ${effect}${gitOpsWarning(object)}`,
      done: `${what} is ${verb}${suspend ? "ed" : "d"}`,
    },
    flags,
  );
}
