import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Clock } from "../../core/clock";
import { describeError, ResilienceError, TerminalError, TransientError } from "../../core/errors";
import { type Api, TimeoutError } from "../http/api";
import type { Instance } from "../http/connection";
import { LineSplitter } from "../watch/line-splitter";

/** What reading an API server's metrics takes. */
export interface MetricSource {
  readonly api: Pick<Api, "open">;
  readonly clock: Clock;
}

/** From the request to the last byte, in milliseconds. What is read is a few megabytes, of a large cluster some tens. */
const DEADLINE_MS = 15_000;

/** An instance that has not begun to answer by then can't be reached, in milliseconds: addresses behind a firewall say nothing at all. */
const INSTANCE_DEADLINE_MS = 5_000;

/** Far more than any API server tells, unpacked. */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_LINE_BYTES = 64 * 1024;

/** Unpacked at a time, in bytes. */
const CHUNK_BYTES = 64 * 1024;

const WHAT = "get /metrics";

/**
 * The lines of an API server's own metrics, some at a time as they come, without holding the rest. Who stops asking ends the reading.
 *
 * @param instance the API server to ask; absent: whichever answers at the kubeconfig's address
 * @throws an error of core, also when the end is missing
 */
export async function* metricLines(
  { api, clock }: MetricSource,
  instance?: Instance,
): AsyncGenerator<readonly string[], void, undefined> {
  const end = new AbortController();
  const cancel = clock.after(DEADLINE_MS, () =>
    end.abort(new TimeoutError(`${WHAT}: no complete answer within ${DEADLINE_MS / 1000} s`)),
  );
  const direct = instance === undefined ? {} : { instance, deadlineMs: INSTANCE_DEADLINE_MS };
  const request = { what: WHAT, path: "/metrics", accept: "text/plain", acceptEncoding: "gzip", ...direct } as const;
  try {
    yield* linesOf(await api.open(request, end.signal));
  } catch (error) {
    // A stream that was ended says no more than that it was.
    if (end.signal.aborted) throw end.signal.reason;
    throw error instanceof ResilienceError ? error : new TransientError(`${WHAT}: ${describeError(error)}`);
  } finally {
    cancel();
  }
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<readonly string[], void, undefined> {
  const lines = new LineSplitter(MAX_LINE_BYTES);
  let size = 0;
  for await (const chunk of unpacked(response)) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new TerminalError(`${WHAT}: the answer is longer than ${MAX_BYTES} bytes`);
    yield lines.push(chunk);
  }
  if (lines.pending > 0) throw new TransientError(`${WHAT}: the answer ends in the middle of a line`);
}

function unpacked(response: IncomingMessage): AsyncIterable<Buffer> {
  if (response.headers["content-encoding"] !== "gzip") return response;
  // A failure of either ends both, and is thrown to whoever reads.
  return pipeline(response, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined);
}
