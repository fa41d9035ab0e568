// What remedies use of this folder: the restarts of a workload, whether its budget allows another one, and the outcomes of open ones.
// The engine records restarts, with src/engine/restarts.
export {
  checkRestartBudget,
  incidentOf,
  isOfCause,
  isOpen,
  isUnproven,
  RESTARTS_WINDOW_MS,
  trailingIneffective,
  type BudgetDecision,
} from "./budget";
export { oldestFirst, restartsOf } from "./history";
export { isCreatedAfter, settleOpenRestarts } from "./settle";
