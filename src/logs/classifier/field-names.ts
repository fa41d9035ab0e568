import { includesAny, words } from "./text";

/** Fields that only records about another service have. */
export const SERVICE_KEYS: ReadonlySet<string> = new Set(
  words("registry repository repo bucket vault database broker datasource provider"),
);

/** Parts of field names whose value names the service that a record is about. */
const ROLES = words(
  "provider backend store service type output exporter sink source destination url uri address addr endpoint host",
  "server upstream remote receiver integration plugin scaler trigger client target connector driver queue",
);

/** Whether a field holds the name of an object of this process and no statement. */
export function carriesName(key: string, value: string): boolean {
  return !value.includes(" ") && !carriesErrors(key) && !includesAny(key, ROLES);
}

/** Whether a field of this name describes an error. Free text has an empty name. */
export function carriesErrors(key: string): boolean {
  return key === "" || (includesAny(key, ERROR_KEYS) && !key.includes("status"));
}

const ERROR_KEYS = [
  ...words("err exc msg message reason cause fail fault detail event log text body warn diagnostic"),
  ...words("@x @m output problem response stack data @r result"),
];
