import fc from "fast-check";
import { expect, it } from "vitest";
import { serialNumber } from "./pki";

it("a serial number is positive and as short as it can be, whatever was drawn", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 8, maxLength: 8 }), random => {
      expect(serialNumber(random)).toMatch(/^[4-7][0-9a-f]{15}$/);
    }),
  );
  expect(serialNumber(new Uint8Array(8))).toBe("4000000000000000");
});
