export { LOG_CLASSES, type LogClass } from "./classes";
export { classify } from "./classify";
export { stripColors, unwrap } from "./envelope";
export { RecordStream, scanInSteps, scanRecords, type OnRecord, type OnStreamRecord } from "./scan-log";
export { MAX_RECORD_BYTES, MAX_RECORD_LINES } from "./records";
export { isFromOtherPod, type PodName } from "./other-pod";
