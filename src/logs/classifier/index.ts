export { type LogClass } from "./classify";
export { classify } from "./classify";
export { stripColors, unwrap } from "./unwrap";
export { scanInSteps, scanRecords, WholeRecords } from "./scan-log";
export { MAX_RECORD_BYTES, MAX_RECORD_LINES } from "./scan-log";
export { isFromOtherPod, type PodName } from "./other-pod";
