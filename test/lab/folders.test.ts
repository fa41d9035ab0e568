import { describe, expect, it } from "vitest";
import { cacheFolder, foldersOf, labsFolder, problemWithName } from "./folders";

describe("folders", () => {
  it("follow the XDG variables", () => {
    const env = { XDG_STATE_HOME: "/state", XDG_CACHE_HOME: "/cache" };
    expect(labsFolder(env)).toBe("/state/controller-resilience/labs");
    expect(cacheFolder(env)).toBe("/cache/controller-resilience");
  });

  it("of a lab are all inside its own, but the lock", () => {
    const { folder, lock, ...inside } = foldersOf("mine", "/labs");
    expect(lock).toBe("/labs/mine.lock");
    expect(Object.values(inside).filter(path => !path.startsWith(`${folder}/`))).toEqual([]);
  });
});

describe("problemWithName", () => {
  it.each(["lab", "a", "test-1", "a".repeat(20)])("accepts %s", name => {
    expect(problemWithName(name)).toBeUndefined();
  });

  it.each(["", "Lab", "-a", "a-", "a/b", "..", "a.lock", "a".repeat(21)])(
    "refuses %j and says what is expected",
    name => {
      expect(problemWithName(name)).toContain("expected 1 to 20 lower-case letters");
      expect(() => foldersOf(name, "/labs")).toThrow(JSON.stringify(name));
    },
  );
});
