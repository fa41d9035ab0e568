import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatKeys, type KeyHistory, KeyMemory, nextKeys, parseKeys, rotationIn } from "./signing-keys";

const AT = Date.parse("2025-01-01T12:00:00Z");
const MINUTE = 60_000;

/** The history after readings, one per minute. */
function after(...readings: readonly string[][]): KeyHistory | undefined {
  return readings.reduce<KeyHistory | undefined>((known, ids, i) => nextKeys(known, ids, AT + i * MINUTE), undefined);
}

describe("a rotation of the signing keys", () => {
  it.each<[string, string[][]]>([
    ["nothing was read", []],
    ["there was one reading, since a rotation before it is not known", [["a"]]],
    ["the keys are the same", [["a"], ["a"]]],
    ["a key was added, since the old one still counts", [["a"], ["a", "b"]]],
    ["one of several old keys is gone, since another one may have signed", [["a", "b"], ["b"]]],
    ["the old key is back", [["a"], ["b"], ["a"]]],
    ["the old key is back beside the new one", [["a"], ["b"], ["a", "b"]]],
  ])("is not known when %s", (_, readings) => {
    expect(rotationIn(after(...readings))).toBeUndefined();
  });

  it("counts from the oldest key of today, and from the loss of the last older one", () => {
    expect(rotationIn(after(["a"], ["a", "b"], ["b"], ["b", "c"], ["b", "c"]))).toEqual({
      beforeMs: AT,
      unchangedMs: AT + MINUTE,
      changedMs: AT + 2 * MINUTE,
    });
  });

  it("counts from the earlier time when the clock was set back", () => {
    const history = nextKeys(nextKeys(undefined, ["a"], AT), ["b"], AT - MINUTE);
    expect(rotationIn(history)?.beforeMs).toBe(AT - MINUTE);
  });

  it("is not known from readings by a clock that was ahead, which would reach tokens of the new key", () => {
    const ahead = [["a"], ["b"]].reduce<KeyHistory | undefined>(
      (history, ids, i) => nextKeys(history, ids, AT + 60 * MINUTE + i * MINUTE),
      undefined,
    );
    expect(rotationIn(nextKeys(ahead, ["b"], AT))).toBeUndefined();
  });

  it("settles although readings of different API servers alternate", () => {
    const readings = [["a"], ["b"], ["b", "c"], ["b"], ["b", "c"]];
    expect(rotationIn(after(...readings))).toEqual({ beforeMs: AT, unchangedMs: AT, changedMs: AT + MINUTE });
  });

  it("never reaches a token that a published key may have signed", () => {
    const readings = fc.array(fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { minLength: 1 }), { minLength: 1 });
    fc.assert(
      fc.property(readings, all => {
        const rotation = rotationIn(after(...all));
        if (rotation === undefined) return;
        const current = all.at(-1) ?? [];
        const present = all.flatMap((ids, i) => (ids.some(id => current.includes(id)) ? [AT + i * MINUTE] : []));
        expect(rotation.beforeMs).toBeLessThan(Math.min(...present));
      }),
    );
  });

  it("is remembered for a bounded number of keys", () => {
    const history = after(...Array.from({ length: 100 }, (_, i) => [`key-${i}`]));
    expect(history?.absentMs.size).toBeLessThanOrEqual(32);
    expect(history?.absentMs.has("key-99")).toBe(true);
  });
});

describe("the history on the Lease", () => {
  it("is read as it was written", () => {
    const history = after(["a"], ["a", "b"], ["b"]);
    const text = formatKeys(history!);
    expect(text).toBe(
      '{"read":"2025-01-01T12:02:00Z","changed":"2025-01-01T12:02:00Z","unchanged":"2025-01-01T12:01:00Z","keys":[{"id":"a","gone":true},{"id":"b","absent":"2025-01-01T12:00:00Z"}]}',
    );
    expect(parseKeys(text)).toEqual(history);
  });

  it.each(["", "{}", "[]", "null", '{"read":"x","keys":[]}', '{"read":"2025-01-01T12:00:00Z","keys":[{}]}'])(
    "proves nothing when it is %j",
    text => {
      const memory = new KeyMemory();
      memory.follow(text, AT);
      expect(rotationIn(memory.history)).toBeUndefined();
    },
  );

  it("proves nothing when the age of a key is unreadable", () => {
    expect(
      parseKeys('{"read":"2025-01-01T12:00:00Z","changed":"2025-01-01T12:00:00Z","keys":[{"id":"a","absent":"x"}]}'),
    ).toBeUndefined();
  });

  it.each([
    ["an older history", AT + MINUTE, AT + 2 * MINUTE, "b"],
    ["no newer one", AT + MINUTE, AT, "a"],
    ["one that the clock of this process stamped while it was ahead", AT + 60 * MINUTE, AT, "b"],
  ])("replaces %s", (_, ownMs, otherMs, key) => {
    const memory = new KeyMemory();
    memory.take(["a"], ownMs);
    memory.follow(formatKeys(nextKeys(undefined, ["b"], otherMs)), AT + 2 * MINUTE);
    expect(memory.history?.current).toEqual([key]);
  });
});
