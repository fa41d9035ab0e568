import { includesAny, words } from "./text";

// What the name of a field says about its value.

/** Fields that only a record about another service has, whatever their value. */
export const SERVICE_KEYS: ReadonlySet<string> = new Set(
  words("registry repository repo bucket vault database broker datasource provider"),
);

/** Parts of the names of fields that say whom a record is about. */
const ROLES = words(
  "provider backend store service type output exporter sink source destination url uri address addr endpoint host",
  "server upstream remote receiver integration plugin scaler trigger client target connector driver queue",
);

/** Whether a field holds no statement but what some object of this process is called. */
export function carriesName(key: string, value: string): boolean {
  return key !== "" && !value.includes(" ") && !carriesErrors(key) && !includesAny(key, ROLES);
}

/** Whether a field of this name says what went wrong. Free text has no name. */
export function carriesErrors(key: string): boolean {
  return key === "" || (includesAny(key, ERROR_KEYS) && !key.includes("status"));
}

const ERROR_KEYS = [
  ...words("err exc msg message reason cause fail fault detail event log text body warn diagnostic"),
  ...words("@x @m output problem response stack data @r result"),
];
