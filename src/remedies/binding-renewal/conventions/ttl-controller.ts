import { floorMs, rfc3339Ns, spellSecond } from "./calendar";
import { expiresAt, malformed, type Marked, type Reading } from "./convention";
import { define } from "./define";
import { str2duration } from "./durations";

const KEY = "k8s-ttl-controller.twin.sh/ttl";
const REFRESHED_AT = "k8s-ttl-controller.twin.sh/refreshed-at";
const EXPECTED = "a duration such as 30m, 24h or 7d";

/**
 * k8s-ttl-controller's annotation `ttl`, counted from `refreshed-at`, otherwise from the creation of the object
 * (TwiN/k8s-ttl-controller main.go, DoReconcile and getStartTime). The controller ignores a `refreshed-at` that it cannot parse, or
 * without `ttl`. A ttl of zero or below deletes immediately.
 *
 * A renewal writes `refreshed-at`, in whole seconds, and keeps `ttl`.
 */
export const ttlController = define({
  key: KEY,
  renewedBy: REFRESHED_AT,
  place: "annotations",
  isRelative: marked => refreshedNs(marked) === undefined,
  read(marked): Reading | null {
    const value = marked.annotations[KEY];
    if (value === undefined) return null;
    const ttl = str2duration(value);
    if (ttl === undefined) return malformed(KEY, value, EXPECTED);
    const startNs = refreshedNs(marked);
    return expiresAt(startNs === undefined ? marked.createdAtMs + floorMs(ttl.ns) : floorMs(startNs + ttl.ns));
  },
  valuesFor(marked, atMs): string[] {
    const ttl = str2duration(marked.annotations[KEY] ?? "");
    return ttl === undefined ? [] : [spellSecond(atMs + floorMs(-ttl.ns))];
  },
});

function refreshedNs(marked: Marked): bigint | undefined {
  return rfc3339Ns(marked.annotations[REFRESHED_AT] ?? "");
}
