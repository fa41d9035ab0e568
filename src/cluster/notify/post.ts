import { request as requestHttp, type ClientRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import type { Body } from "./bodies";
import type { Receiver } from "./receiver";

/** What the receiver answered. Its body is not read: it may repeat what was sent. */
export interface Answer {
  readonly code: number;
  readonly retryAfter: string | undefined;
}

/** Sends one body. Redirects are not followed, since headers may be secret. @throws any error of the network, or of the signal */
export function post({ url, headers, ca }: Receiver, body: Body, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = Buffer.byteLength(body.text);
    const own = { "content-type": body.contentType, "content-length": length, "user-agent": "controller-resilience" };
    const options: RequestOptions = { method: "POST", headers: { ...headers, ...own }, signal, agent: false };
    const onAnswer = (response: IncomingMessage): void => {
      resolve({ code: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] });
      response.destroy();
    };
    const isTls = url.protocol === "https:";
    const sent: ClientRequest = isTls
      ? requestHttps(url, { ...options, ca }, onAnswer)
      : requestHttp(url, options, onAnswer);
    sent.on("error", reject);
    sent.end(body.text);
  });
}
