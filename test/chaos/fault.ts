import type { Refusal } from "./exchange";

/** Faults of a network, a load balancer or an overload, which affect requests and their answers. */
export type Fault =
  | "none"
  /** Connections break, both open and new ones. */
  | "reset"
  /** Bodies, and events of watches, break off in the middle of their JSON. */
  | "truncate"
  /** As truncate, but with a clean end. */
  | "cut"
  /** Watches end cleanly after the first event. */
  | "close"
  /** Connections that are open at the beginning deliver nothing any more until they close. New ones work. */
  | "silence"
  /** Each event is followed by a line that is not JSON. */
  | "nonsense"
  /** Watches report 410 within the stream. */
  | "gone-event"
  /** Every byte arrives in its own chunk. */
  | "drip"
  /** Nothing is forwarded; the proxy gives this answer. */
  | Refusal;

/** The replacement for a piece of a body, and how the body continues. */
export interface Piece {
  readonly sent: readonly Buffer[];
  readonly then: "go on" | "end" | "cut";
}

const NO_JSON = '{"type":"ADDED","object":\n';
const GONE = '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n';

/** Applies a fault to a piece: of a watch, the newly arrived bytes; of any other answer, the whole body. Pure. */
export function pieceOf(fault: Fault, chunk: Buffer, isWatch: boolean): Piece {
  switch (fault) {
    case "truncate":
      return { sent: [halfOf(chunk)], then: "cut" };
    case "cut":
      return { sent: [halfOf(chunk)], then: "end" };
    case "drip":
      return { sent: [...chunk].map(byte => Buffer.of(byte)), then: "go on" };
    default:
      return isWatch ? pieceOfWatch(fault, chunk) : { sent: [chunk], then: "go on" };
  }
}

function pieceOfWatch(fault: Fault, chunk: Buffer): Piece {
  switch (fault) {
    case "close":
      return { sent: [chunk], then: "end" };
    case "nonsense":
      return { sent: [chunk, Buffer.from(NO_JSON)], then: "go on" };
    case "gone-event":
      return { sent: [Buffer.from(GONE)], then: "end" };
    default:
      return { sent: [chunk], then: "go on" };
  }
}

function halfOf(chunk: Buffer): Buffer {
  return chunk.subarray(0, chunk.length >> 1);
}

/** Whether the fault is an answer, so that the request is not forwarded. */
export function isRefusal(fault: Fault): fault is Refusal {
  return typeof fault === "object";
}
