import type { Refusal } from "./exchange";

/** What a network, a load balancer or an overload does to requests and their answers. */
export type Fault =
  | "none"
  /** Connections break, open ones and new ones. */
  | "reset"
  /** Bodies, and events of watches, break off in the middle of their JSON. */
  | "truncate"
  /** As truncate, but with a clean end. */
  | "cut"
  /** Watches end cleanly as soon as something was sent. */
  | "close"
  /** Nothing is sent any more on connections that are open when it begins, for as long as they stay open. New ones are good. */
  | "silence"
  /** As silence, and so are connections that are opened while it lasts: the process behind the proxy is cut off. */
  | "unreachable"
  /** Everything comes late. */
  | "delay"
  /** Each event is followed by a line that is no JSON. */
  | "nonsense"
  /** Watches say 410 within the stream. */
  | "gone-event"
  /** Every byte comes in its own chunk. */
  | "drip"
  /** Nothing is forwarded, and this is the answer. */
  | Refusal;

/** What is sent in place of a piece of a body, and how the body goes on. */
export interface Piece {
  readonly sent: readonly Buffer[];
  readonly then: "go on" | "end" | "cut";
}

const NO_JSON = '{"type":"ADDED","object":\n';
const GONE = '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n';

/** What such a fault makes of a piece. Of a watch, that is what has just come; of any other answer, the whole body. Pure. */
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

/** Whether it is the answer itself, so that no server is asked. */
export function isRefusal(fault: Fault): fault is Refusal {
  return typeof fault === "object";
}

/** For people. */
export function describeFault(fault: Fault): string {
  if (!isRefusal(fault)) return fault;
  return fault.retryAfter === undefined ? String(fault.code) : `${fault.code}, Retry-After ${fault.retryAfter}`;
}
