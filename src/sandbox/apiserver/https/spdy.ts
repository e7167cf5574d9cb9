/**
 * The server's side of SPDY/3.1, as clients of Kubernetes speak it after an upgrade: frames, and streams that
 * the client opens. There is no flow control by windows, because those clients have none. The dictionary of
 * headers is a constant of the protocol.
 */
import { Duplex } from "node:stream";
import { constants, createDeflate, createInflate, type Deflate, type Inflate } from "node:zlib";

/** Flag of the last frame of a stream, in one direction. */
const FIN = 1;
const HEAD_BYTES = 8;
/** Longest frame. Clients of Kubernetes send 32 KiB at a time. */
const MOST_BYTES = 1_024 * 1_024;
/** Longest headers of one stream, uncompressed. The headers of a port-forward have about 100 bytes. */
const MOST_HEADER_BYTES = 64 * 1_024;
const CONTROL = 0x80_03;
const SYN_STREAM = 1;
const SYN_REPLY = 2;
const RST_STREAM = 3;
const PING = 6;
const GOAWAY = 7;
/** Status of RST_STREAM: the stream is not wanted any more. */
const CANCEL = 5;

/** One stream of a connection. Its bytes are plain, and it may end in one direction before the other. */
export interface SpdyStream extends Duplex {
  /** Names are in lower case. */
  readonly headers: ReadonlyMap<string, string>;
}

/**
 * Serves streams until the client goes away or breaks the protocol. Resolves when the connection is over.
 * `before`: bytes that were read along with the upgrade request.
 */
export async function serveSpdy(
  socket: Duplex,
  before: Buffer,
  onStream: (stream: SpdyStream) => void,
): Promise<void> {
  const connection = new Connection(socket, onStream);
  try {
    let rest = await connection.take(before);
    for await (const chunk of socket)
      rest = await connection.take(Buffer.concat([rest, chunk as Buffer]));
  } catch {
    // If the client disconnects or breaks the protocol, serving ends.
  } finally {
    connection.close();
  }
}

class Connection {
  readonly #socket: Duplex;
  readonly #onStream: (stream: SpdyStream) => void;
  readonly #streams = new Map<number, Stream>();
  // Each direction has one compression state, because a block of headers refers to the blocks
  // before it.
  readonly #inflate = createInflate({ dictionary: DICTIONARY });
  readonly #deflate = createDeflate({ dictionary: DICTIONARY });

  constructor(socket: Duplex, onStream: (stream: SpdyStream) => void) {
    this.#socket = socket;
    this.#onStream = onStream;
    socket.on("error", () => socket.destroy());
  }

  /** Handles all complete frames. Returns the bytes of the incomplete last frame. */
  async take(bytes: Buffer): Promise<Buffer> {
    let at = 0;
    while (bytes.length - at >= HEAD_BYTES) {
      const length = bytes.readUInt32BE(at + 4) & 0xff_ff_ff;
      if (length > MOST_BYTES) throw new Error(`a frame of ${length} bytes`);
      const end = at + HEAD_BYTES + length;
      if (bytes.length < end) break;
      await this.#handle(bytes.subarray(at, end));
      at = end;
    }
    return bytes.subarray(at);
  }

  close(): void {
    for (const stream of this.#streams.values()) stream.destroy();
    this.#inflate.close();
    this.#deflate.close();
    this.#socket.destroy();
  }

  async #handle(frame: Buffer): Promise<void> {
    const flags = frame.readUInt8(4);
    const body = frame.subarray(HEAD_BYTES);
    if ((frame.readUInt8(0) & 0x80) === 0) {
      const stream = this.#streams.get(frame.readUInt32BE(0));
      if (body.length > 0) stream?.push(Buffer.from(body));
      if ((flags & FIN) !== 0) stream?.push(null);
      return;
    }
    switch (frame.readUInt16BE(2)) {
      case SYN_STREAM:
        return await this.#open(body, flags);
      case RST_STREAM:
        this.#streams.get(idIn(body))?.reset();
        return;
      case PING:
        this.#socket.write(frame);
        return;
      case GOAWAY:
        this.#socket.end();
        return;
      default:
        return;
    }
  }

  async #open(body: Buffer, flags: number): Promise<void> {
    const id = idIn(body);
    const headers = headersIn(await through(this.#inflate, body.subarray(10)));
    const stream = new Stream(headers, {
      send: (data, sent) => this.#sendData(id, data, sent),
      cancel: () => this.#sendControl(RST_STREAM, words(id, CANCEL)),
      gone: () => this.#streams.delete(id),
    });
    this.#streams.set(id, stream);
    const none = await through(this.#deflate, words(0));
    this.#sendControl(SYN_REPLY, Buffer.concat([words(id), none]));
    if ((flags & FIN) !== 0) stream.push(null);
    this.#onStream(stream);
  }

  #sendControl(type: number, body: Buffer): void {
    if (this.#socket.writable)
      this.#socket.write(Buffer.concat([words(CONTROL * 0x1_00_00 + type, body.length), body]));
  }

  /** Sends a data frame. A frame without bytes is the last one of the stream. */
  #sendData(id: number, data: Buffer, sent: () => void): void {
    if (!this.#socket.writable) {
      sent();
      return;
    }
    const flags = data.length === 0 ? FIN : 0;
    this.#socket.write(Buffer.concat([words(id, flags * 0x1_00_00_00 + data.length), data]), () =>
      sent(),
    );
  }
}

/** The functions of a connection that its streams call. */
interface Line {
  readonly send: (data: Buffer, sent: () => void) => void;
  readonly cancel: () => void;
  readonly gone: () => void;
}

class Stream extends Duplex implements SpdyStream {
  readonly headers: ReadonlyMap<string, string>;
  readonly #line: Line;
  #isReset = false;

  constructor(headers: ReadonlyMap<string, string>, line: Line) {
    super();
    this.headers = headers;
    this.#line = line;
    this.on("error", () => undefined);
  }

  /** Ends the stream because the client cancelled it. */
  reset(): void {
    this.#isReset = true;
    this.destroy();
  }

  override _read(): void {
    // The connection pushes bytes when they arrive.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (chunk.length === 0) done();
    else this.#line.send(chunk, done);
  }

  override _final(done: () => void): void {
    this.#line.send(Buffer.alloc(0), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#isReset && !this.writableFinished) this.#line.cancel();
    this.#line.gone();
    done(error);
  }
}

function idIn(body: Buffer): number {
  return body.readUInt32BE(0) & 0x7f_ff_ff_ff;
}

function words(...numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  numbers.forEach((one, at) => {
    bytes.writeUInt32BE(one, 4 * at);
  });
  return bytes;
}

/** Compresses or decompresses one block of headers with the state of its direction. */
function through(state: Inflate | Deflate, block: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    const keep = (part: Buffer): void => {
      parts.push(part);
      bytes += part.length;
      if (bytes > MOST_HEADER_BYTES) reject(new Error("headers are too long"));
    };
    state.on("data", keep);
    state.once("error", reject);
    state.write(block);
    state.flush(constants.Z_SYNC_FLUSH, () => {
      state.off("data", keep);
      state.off("error", reject);
      resolve(Buffer.concat(parts));
    });
  });
}

/** Parses a block of headers: a count, then names and values, each after its length. */
function headersIn(block: Buffer): ReadonlyMap<string, string> {
  let at = 4;
  const text = (): string => {
    const start = at + 4;
    at = start + block.readUInt32BE(at);
    return block.toString("utf8", start, at);
  };
  const count = block.readUInt32BE(0);
  const headers = new Map<string, string>();
  for (let index = 0; index < count; index++) headers.set(text().toLowerCase(), text());
  return headers;
}

const NAMES =
  "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow " +
  "authorization cache-control connection content-base content-encoding content-language content-length " +
  "content-location content-md5 content-range content-type date etag expect expires from host if-match " +
  "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma " +
  "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade " +
  "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie " +
  "keep-alive origin";
const TAIL =
  "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505" +
  "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized" +
  "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable" +
  "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT" +
  "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain," +
  "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

const DICTIONARY = Buffer.concat([
  ...NAMES.split(" ").map((name) => {
    const text = Buffer.from(name.replace("_", " "));
    return Buffer.concat([words(text.length), text]);
  }),
  Buffer.from(TAIL),
]);
