import { CniCredential } from "./cni-credential";
import { ExpiringBinding } from "./expiring-binding";
import { Runaway } from "./runaway";
import type { Scenario } from "./scenario";
import { StaleToken } from "./stale-token";
import { TokenLifetime } from "./token-lifetime";

/** Every scenario, one line each; the first is what `npm run demo` shows. */
export const scenarios: readonly Scenario[] = [
  { name: "stale-token", about: "a ServiceAccount is recreated", start: (...on) => new StaleToken(...on) },
  { name: "expiring-binding", about: "a RoleBinding lives for a minute", start: (...on) => new ExpiringBinding(...on) },
  { name: "cni-credential", about: "no pod can start on a node", start: (...on) => new CniCredential(...on) },
  { name: "token-lifetime", about: "a token is good for a year", start: (...on) => new TokenLifetime(...on) },
  {
    name: "runaway",
    about: "a controller without backoff floods the API server",
    start: (...on) => new Runaway(...on),
  },
];
