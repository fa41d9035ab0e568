import fc from "fast-check";
import { expect, it } from "vitest";
import { serialNumber } from "./pki";

it("creates positive serial numbers without leading zeros from any random bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 8, maxLength: 8 }), random => {
      expect(serialNumber(random)).toMatch(/^[4-7][0-9a-f]{15}$/);
    }),
  );
  expect(serialNumber(new Uint8Array(8))).toBe("4000000000000000");
});
