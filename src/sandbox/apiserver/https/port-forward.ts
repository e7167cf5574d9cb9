/**
 * Ports of pods, for `kubectl port-forward` and client-go: the protocol `portforward.k8s.io` over SPDY. A connection of
 * the client is two streams of one request id: `data` carries its bytes, `error` a sentence when the port does not
 * answer.
 * upstream: kubelet's pkg/kubelet/cri/streaming/portforward of Kubernetes
 */
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { errorText } from "../../../base/error-text.ts";
import { type SpdyStream, serveSpdy } from "./spdy.ts";

const PROTOCOL = "portforward.k8s.io";

/** Serves ports over a connection that was upgraded. Resolves when the client has gone. */
export function forwardPorts(
  socket: Duplex,
  before: Buffer,
  connect: (port: number) => Promise<Duplex>,
): Promise<void> {
  socket.write(
    [
      "HTTP/1.1 101 Switching Protocols",
      "Connection: Upgrade",
      "Upgrade: SPDY/3.1",
      `X-Stream-Protocol-Version: ${PROTOCOL}`,
      "\r\n",
    ].join("\r\n"),
  );
  const errors = new Map<string, SpdyStream>();
  return serveSpdy(socket, before, (stream) => {
    const id = stream.headers.get("requestid") ?? "";
    if (stream.headers.get("streamtype") === "error") {
      errors.set(id, stream);
      return;
    }
    const error = errors.get(id);
    errors.delete(id);
    joined(stream, connect)
      .then(
        () => error?.end(),
        (reason: unknown) => error?.end(errorText(reason)),
      )
      .catch(() => undefined);
  });
}

/** Joins the stream with the port that its headers name, until one of the two ends. */
async function joined(
  stream: SpdyStream,
  connect: (port: number) => Promise<Duplex>,
): Promise<void> {
  const port = Number(stream.headers.get("port"));
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    stream.destroy();
    throw new Error(
      `port ${JSON.stringify(stream.headers.get("port"))}: it is a number from 1 to 65535`,
    );
  }
  let there: Duplex;
  try {
    there = await connect(port);
  } catch (error) {
    stream.destroy();
    throw error;
  }
  there.on("error", () => there.destroy());
  const toPort = pipeline(stream, there).catch(() => undefined);
  // A client that closes its side wants no more bytes of the pod, so the error is ignored.
  await pipeline(there, stream).catch(() => undefined);
  await toPort;
}
