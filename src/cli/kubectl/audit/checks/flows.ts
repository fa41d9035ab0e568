import { serviceAccountUser } from "../../../../core/service-account-user";
import { apiUsers, type AuditFacts, type FlowFacts } from "../facts";
import type { Finding } from "../finding";

/** ServiceAccounts of controllers that share their flow with others: a flood of one takes the seats of all. */
export function sharedFlows(facts: AuditFacts): Finding[] {
  const { flows, flowRates } = facts;
  if (flows === undefined) return [];
  return [...apiUsers(facts)].flatMap(account => {
    const [namespace = "", name = ""] = account.split("/");
    const flow = flowOf(namespace, name, flows);
    if (flow === undefined || isOwn(flow, namespace, name)) return [];
    const rate = flowRates?.get(flow.name);
    const shares = rate === undefined ? "" : ` (${formatRate(rate)} requests/s of all together)`;
    return [
      {
        ...({ severity: "notice", check: "NoFlow", kind: "ServiceAccount", namespace, name } as const),
        why: `it shares the flow ${flow.name} of the API server${shares}: a flood of requests by another one delays its requests.`,
        wayOut: "Isolate it with flowIsolation.",
      },
    ];
  });
}

/** The FlowSchema that matches first: the lowest precedence, then the name. */
function flowOf(namespace: string, name: string, flows: readonly FlowFacts[]): FlowFacts | undefined {
  const user = serviceAccountUser(namespace, name);
  const groups = ["*", "system:authenticated", "system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  const users = ["*", user, serviceAccountUser(namespace, "*")];
  return flows
    .filter(flow => flow.users.some(one => users.includes(one)) || flow.groups.some(one => groups.includes(one)))
    .toSorted((a, b) => a.precedence - b.precedence || (a.name < b.name ? -1 : 1))[0];
}

function isOwn(flow: FlowFacts, namespace: string, name: string): boolean {
  return flow.users.includes(serviceAccountUser(namespace, name));
}

function formatRate(perSecond: number): string {
  return perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond));
}
