import type { Command } from "commander";
import { parseAllDocuments } from "yaml";
import { readCoverage } from "../audit/coverage";
import { addClusterCommand, CALL, type Flags, type Shell } from "../command";
import { CliError, Exit, type ExitCode } from "../io";
import { type ClusterLists, readClusterLists } from "../plan/cluster-lists";
import type { Session } from "../session";
import { clusterObjectsOf, findUnprotected, type FoundFacts } from "../suggest/found";
import { writeClusterObject, writeObjects } from "../suggest/write";

/** `suggest`: writes an object for what is not protected. */
export function registerSuggest(program: Command, shell: Shell): void {
  addClusterCommand(program, shell, {
    usage: "suggest",
    summary: "write a ControllerResilience for unprotected workloads",
    description:
      "Write a ControllerResilience in mode Observe for the unprotected workloads of a namespace that use the API, with a comment for each choice; with -A a ClusterControllerResilience. It only reads.",
    examples: [
      ["suggest -n shop > resilience.yaml", "one namespace"],
      ["suggest -A", "the whole cluster"],
      [`suggest -n shop | ${CALL} plan -f -`, "what it would come to"],
    ],
    formats: ["yaml", "json"],
    run: runSuggest,
  });
}

async function runSuggest(session: Session, flags: Flags): Promise<ExitCode> {
  const namespace = flags.allNamespaces === true ? undefined : session.namespace;
  const unread: string[] = [];
  const lists = await readClusterLists(session, namespace, sentence => unread.push(sentence));
  const facts = (await readCoverage(lists, namespace)) ?? [];
  session.progress.end();
  if (namespace !== undefined && lists.namespaces?.length === 0)
    throw new CliError(`Namespace ${namespace} does not exist`);
  const { output } = session;
  for (const one of unread) await output.note(`not readable, so unknown: ${one}`);
  const found = findUnprotected(facts, lists, session.clock.now().getTime());
  if (found.workloads.length === 0) {
    await output.note("nothing to suggest: no workload that uses the API is unprotected");
    return unread.length > 0 ? Exit.error : Exit.ok;
  }
  const text = written(namespace, found, lists);
  if (flags.output === "json") await output.data(asList(text), "json");
  else await output.text(text);
  return Exit.ok;
}

/** One object, or a List, as kubectl prints them. JSON has no comments. */
function asList(text: string): unknown {
  const items = parseAllDocuments(text).map(document => document.toJS() as unknown);
  return items.length === 1 ? items[0] : { apiVersion: "v1", kind: "List", items };
}

function written(namespace: string | undefined, found: FoundFacts, lists: ClusterLists): string {
  const present = namespace === undefined ? lists.clusterObjects : lists.objects;
  const taken = new Set(present.map(({ metadata }) => metadata.name));
  return namespace === undefined
    ? writeClusterObject(found, taken, clusterObjectsOf(lists))
    : writeObjects(namespace, found, taken);
}
