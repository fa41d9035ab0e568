import type { Intent } from "../../core/intent";
import type { PlanItem } from "../../core/remedy";
import type { Finding } from "./reasons";

/** One level, flow, workload or surplus object. */
export interface FlowItem extends PlanItem {
  /** What to report whatever happens to the intents. */
  readonly findings: readonly Finding[];
  readonly write?: Write;
}

/** What the intents of an item are for. */
export interface Write {
  readonly step: "Provision" | "PutBack" | "Throttle" | "Release" | "Other";
  /** A sentence: what is written in Enforce mode, and why. */
  readonly why: string;
  /** What follows where nothing is written. */
  readonly unwritten?: string;
}

/** Id of the item of one ServiceAccount's flow. */
export function flowId(serviceAccount: string): string {
  return `flow/${serviceAccount}`;
}

/** Id of the item of any other write. */
export function otherId({ verb, target }: Pick<Intent, "verb" | "target">): string {
  return `${verb}/${target.kind}/${target.name}`;
}

/** Id of the item of one priority level. */
export function levelId(name: string): string {
  return `${LEVELS}${name}`;
}

/** Whether the item is a priority level: every flow depends on these. */
export function isLevel({ id }: PlanItem): boolean {
  return id.startsWith(LEVELS);
}

const LEVELS = "level/";
