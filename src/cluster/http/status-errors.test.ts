import { describe, expect, it } from "vitest";
import {
  ConflictError,
  ForbiddenError,
  GoneError,
  TerminalError,
  TerminatingError,
  TransientError,
  UnauthorizedError,
  UnavailableError,
  WaitError,
} from "../../core/errors";
import { errorOfRefusal, ExpiredError, parseStatus, retryAfterMs } from "./status-errors";

const refuse = (code: number, status: object = {}, asked?: string) => {
  const waitMs = retryAfterMs({ "retry-after": asked, date: "Wed, 01 Jan 2025 12:00:00 GMT" });
  return errorOfRefusal({ code, status: status as Record<string, unknown>, retryAfterMs: waitMs }, "get pods kai/a");
};

describe("errorOfRefusal", () => {
  it.each([
    [400, TerminalError],
    [401, UnauthorizedError],
    [403, ForbiddenError],
    [404, GoneError],
    [409, ConflictError],
    [410, ExpiredError],
    [422, TerminalError],
    [429, WaitError],
    [500, TransientError],
    [503, TransientError],
  ])("maps a %i to its error type", (code, type) => {
    expect(refuse(code).constructor).toBe(type);
  });

  it.each([
    [401, "credentials rejected (401)"],
    [403, "forbidden (403)"],
  ])("takes a %i of a kubelet for no refusal of the operator", (code, phrase) => {
    expect(refuse(code, { details: { name: "a", kind: "pods/log" } })).toMatchObject({
      constructor: TransientError,
      message: `get pods kai/a: the kubelet to the API server: ${phrase}`,
    });
  });

  it("names the call and the API server's message", () => {
    const said = 'pods "a" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "kai"';
    expect(refuse(403, { message: said }).message).toBe(`get pods kai/a: forbidden (403): ${said}`);
  });

  it("respects Retry-After up to a limit", () => {
    expect(refuse(429, {}, "7")).toMatchObject({ afterMs: 7_000 });
    expect(refuse(503, {}, "2")).toMatchObject({ afterMs: 2_000 });
    expect(refuse(429, { details: { retryAfterSeconds: 10 } })).toMatchObject({ afterMs: 10_000 });
    expect(refuse(429)).toMatchObject({ afterMs: 1_000 });
    expect(refuse(429, {}, "999999")).toMatchObject({ afterMs: 240_000 });
    expect(refuse(429, {}, "soon")).toMatchObject({ afterMs: 1_000 });
    expect(refuse(503, {}, "Wed, 01 Jan 2025 12:01:00 GMT")).toMatchObject({ afterMs: 60_000 });
    expect(refuse(503, {}, "Wed, 01 Jan 2025 11:00:00 GMT")).toMatchObject({ afterMs: 0 });
  });

  it("distinguishes a failing server from a refusal", () => {
    expect(refuse(503, {}, "2")).toBeInstanceOf(UnavailableError);
    expect(refuse(500, { details: { retryAfterSeconds: 1 } })).toBeInstanceOf(UnavailableError);
    expect(refuse(429, {}, "2")).not.toBeInstanceOf(UnavailableError);
  });

  it("distinguishes a terminating namespace from a missing right", () => {
    const going = { details: { causes: [{ reason: "NamespaceTerminating", field: "metadata.namespace" }] } };
    expect(refuse(403, going)).toBeInstanceOf(TerminatingError);
    expect(refuse(403, {})).not.toBeInstanceOf(TerminatingError);
  });

  it("treats a wrong uid in a patch as a conflict", () => {
    expect(refuse(422, { details: { causes: [{ field: "metadata.uid" }] } })).toBeInstanceOf(ConflictError);
    expect(refuse(422, { details: { causes: [{ field: "spec.replicas" }] } })).toBeInstanceOf(TerminalError);
  });
});

it("parseStatus accepts only a Status", () => {
  expect(parseStatus('{"kind":"Status","message":"m"}')).toMatchObject({ message: "m" });
  expect(parseStatus('{"kind":"Pod","message":"m"}')).toEqual({});
  expect(parseStatus("E0101 token=secret")).toEqual({});
});
