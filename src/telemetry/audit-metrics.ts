import { Counter, type Registry } from "prom-client";
import type { AuditMetrics, AuditResult } from "../core/rejections";

/** The counters of the audit webhook. */
export class AuditCounters implements AuditMetrics {
  readonly #requests: Counter<"result">;
  readonly #rejections: Counter;

  constructor(registry: Registry) {
    this.#requests = new Counter({
      name: "controller_resilience_audit_requests_total",
      help: "Requests to the audit webhook by result: accepted, shed, too_large, invalid, unauthorized or standby (closed by a standby).",
      labelNames: ["result"],
      registers: [registry],
    });
    this.#rejections = new Counter({
      name: "controller_resilience_audit_rejections_total",
      help: "Events of the audit webhook about requests that were answered 401.",
      registers: [registry],
    });
  }

  auditRequest(result: AuditResult): void {
    this.#requests.inc({ result });
  }

  auditRejections(count: number): void {
    this.#rejections.inc(count);
  }
}
