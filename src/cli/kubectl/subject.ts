import { CLUSTER_KIND, KIND } from "../../api/names";
import { KINDS } from "../../core/kinds";
import { type Mode, whyObserved } from "../../core/remedy";
import { oneLine } from "../../core/text";
import { CliError } from "../streams";

/** Kinds that a command line can name, and their short names. */
const ALIASES = {
  [KIND]: ["cres"],
  [CLUSTER_KIND]: ["ccres"],
  Pod: ["po"],
  Deployment: ["deploy"],
  StatefulSet: ["sts"],
  DaemonSet: ["ds"],
  ServiceAccount: ["sa"],
  RoleBinding: [],
  ClusterRoleBinding: [],
} as const satisfies Partial<Record<keyof typeof KINDS, readonly string[]>>;
type SubjectKind = keyof typeof ALIASES;

/** The object that a command line names. */
export interface Subject {
  readonly kind: SubjectKind;
  /** Absent for a cluster-scoped object. */
  readonly namespace?: string;
  readonly name: string;
}

const NAMES = Object.keys(ALIASES) as SubjectKind[];

/**
 * Parses `NAME` of a ControllerResilience, or `KIND/NAME` with kubectl's names of the kind.
 *
 * @throws CliError for a kind that is not one of them
 */
export function parseSubject(text: string, namespace: string): Subject {
  const [first = "", name, ...rest] = text.split("/");
  if (name === undefined && first !== "") return { kind: KIND, namespace, name: first };
  const kind = kindOf(first.toLowerCase());
  if (kind === undefined || name === undefined || name === "" || rest.length > 0)
    throw new CliError(
      `expected NAME or KIND/NAME, got "${text}"; KIND is one of: ${NAMES.map(one => one.toLowerCase()).join(", ")}`,
    );
  return "isClusterScoped" in KINDS[kind] ? { kind, name } : { kind, namespace, name };
}

/** Formats an object as `Pod shop/web-1`. */
export function describeSubject({
  kind,
  namespace = "",
  name,
}: {
  kind: string;
  namespace?: string;
  name: string;
}): string {
  return oneLine(`${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`);
}

/** Says whether the operator acts, and why not. */
export function describeMode(mode: Mode): string {
  return mode === "Enforce" ? "mode Enforce" : `only observes: ${whyObserved(mode)}`;
}

function kindOf(word: string): SubjectKind | undefined {
  const [bare = ""] = word.split(".");
  return NAMES.find(kind => [kind.toLowerCase(), KINDS[kind].plural, ...ALIASES[kind]].includes(bare));
}
