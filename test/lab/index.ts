export { Lab, type LabOptions } from "./lab";
export type { ApiServerChange } from "./control-plane";
export type { CniPlugin } from "./cni";
export type { CommandResult } from "./commands";
