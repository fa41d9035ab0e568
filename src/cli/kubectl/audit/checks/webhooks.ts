import { matchesSelector } from "../../../../core/label-selector";
import type { AuditFacts, WebhookFacts, WorkloadFacts } from "../facts";
import type { Finding } from "../finding";

/** Webhooks that must admit the pods that serve them: once all of these are gone, none can be created. */
export function ownWebhooks(facts: AuditFacts): Finding[] {
  const { webhooks = [] } = facts;
  return webhooks.flatMap(webhook => {
    if (!webhook.fails || !webhook.gatesPods) return [];
    const [gated] = serversOf(webhook, facts).filter(({ podLabels }) =>
      matchesSelector(podLabels, webhook.objectSelector),
    );
    if (gated === undefined || !gatesNamespace(webhook, gated, facts)) return [];
    const { view } = gated;
    return [
      {
        ...({
          severity: "warning",
          check: "OwnWebhook",
          kind: webhook.kind,
          namespace: "",
          name: webhook.configuration,
        } as const),
        why: `webhook ${webhook.name} (failurePolicy Fail) gates the pods of ${view.kind} ${view.namespace}/${view.name}, which serve it${webhook.hasConditions ? ", unless its matchConditions leave them out" : ""}: if all of them are gone, none can be created.`,
        wayOut: `Exclude namespace ${view.namespace} in its namespaceSelector, or those pods in its objectSelector.`,
      },
    ];
  });
}

function serversOf({ service }: WebhookFacts, { services = [], workloads = [] }: AuditFacts): readonly WorkloadFacts[] {
  const found = services.find(({ namespace, name }) => namespace === service?.namespace && name === service.name);
  if (found === undefined || Object.keys(found.selector).length === 0) return [];
  return workloads.filter(
    ({ view, podLabels }) =>
      view.namespace === found.namespace && matchesSelector(podLabels, { matchLabels: { ...found.selector } }),
  );
}

function gatesNamespace(
  { namespaceSelector }: WebhookFacts,
  { view }: WorkloadFacts,
  { namespaces = [] }: AuditFacts,
): boolean {
  const namespace = namespaces.find(({ name }) => name === view.namespace);
  return namespace !== undefined && matchesSelector(namespace.labels, namespaceSelector);
}
