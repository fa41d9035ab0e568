import { signsOf } from "../../../../cluster/read/pod-view";
import { isCniFolder } from "../../../../core/components";
import { formatDuration } from "../../../../core/duration";
import { objectOf } from "../../../../core/json";
import { planTemplate } from "../../../../remedies/token-lifetime/template";
import { isNodeAgent } from "../../../../remedies/token-lifetime/trial/first-pod";
import { type AuditFacts, apiUsers, isActive, type WorkloadFacts } from "../facts";
import type { Finding } from "../finding";

/** The kubelet replaces a token of at most this life within the hour. */
const SHORT_SECONDS = 3600;

/** DaemonSets whose token, stolen from any node, is valid for a year; and those whose token a change could break. */
export function tokenLives(facts: AuditFacts): Finding[] {
  const users = apiUsers(facts);
  return (facts.workloads ?? []).flatMap(workload => {
    const { daemonSet } = workload;
    if (daemonSet === undefined || !users.has(`${daemonSet.namespace}/${daemonSet.serviceAccountName}`)) return [];
    return judge(workload, facts);
  });
}

function judge({ daemonSet }: WorkloadFacts, { accounts = [], pods = [] }: AuditFacts): Finding[] {
  if (daemonSet === undefined) return [];
  const { namespace, name, serviceAccountName, template, ownedVolumes } = daemonSet;
  const account = accounts.find(one => one.namespace === namespace && one.name === serviceAccountName);
  const input = { template, automount: account?.automount, ownedVolumes };
  const plan = planTemplate(input, { expirationSeconds: SHORT_SECONDS, defaultToken: "Project" });
  const base = { severity: "notice", kind: "DaemonSet", namespace, name } as const;
  const own = pods
    .filter(pod => isActive(pod) && pod.owner?.uid === daemonSet.uid)
    .map(pod => ({ pod, logState: "unread" as const, logReadMs: -Infinity, isOlderThanServiceAccount: false }));
  if (plan.kind === "LeftAlone" && plan.reason !== "AutomountOff") {
    const why = `its token cannot be judged or changed: ${plan.cause}.`;
    return [
      { ...base, check: "KeepToken", why, wayOut: "Check how it reads its token, and leave it out of tokenLifetime." },
    ];
  }
  if (plan.kind !== "Change") return [];
  const life = describeLife(plan);
  const keep = isNodeAgent({ pods: own }) || signsOf(objectOf(template["spec"])).hostPaths.some(isCniFolder);
  if (keep) {
    return [
      {
        ...{ ...base, check: "KeepToken" },
        why: `it is an agent of a network plugin, which may leave a copy of its token on the node, and ${life}. With a shorter token new pods may fail to start there.`,
        wayOut: "Do not shorten it by hand. tokenLifetime tries it on one node first and takes it back.",
      },
    ];
  }
  return [
    {
      ...{ ...base, check: "LongToken" },
      why: `${life}: a copy of it from any node is accepted that long.`,
      wayOut: "Bound it with tokenLifetime, which watches the change and reverts it if it does harm.",
    },
  ];
}

function describeLife({ previous }: { readonly previous: readonly { readonly expirationSeconds: number }[] }): string {
  const longest = Math.max(0, ...previous.map(({ expirationSeconds }) => expirationSeconds));
  return longest > SHORT_SECONDS
    ? `its token lives ${formatDuration(1000 * longest)}`
    : "it has the default token, which the API server accepts for a year";
}
