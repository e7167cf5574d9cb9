/**
 * Replicas of Karpenter beside a sandbox, on virtual time. Each has its own connections, which a test may cut or
 * answer with faults. A replica can be killed as by `kill -9` at its n-th write: the write may have arrived, its
 * answer is lost, and nothing is sent any more.
 */
import type { Clock } from "../src/base/clock.ts";
import { Random } from "../src/base/random.ts";
import { awsProviderOf } from "../src/cli/controller/providers.ts";
import type {
  KubeRequest,
  KubeResponse,
  KubeStream,
  Transport,
} from "../src/kube/transport/transport.ts";
import { createOperator, type Operator } from "../src/operator/create-operator.ts";
import { createLogger } from "../src/operator/logging/logger.ts";
import { parseOptions } from "../src/operator/settings/parse-options.ts";
import type { AwsApi } from "../src/providers/aws/api/aws-api.ts";
import { KARPENTER_NAMESPACE } from "../src/sandbox/base-state.ts";
import type { TestWorld } from "./world.ts";

const CLUSTER = "karpenter-demo";

/** Decides about a request: `undefined` sends it to the server; an answer replaces the server's. */
export type Fault = (request: KubeRequest) => Promise<KubeResponse | undefined>;

/** Decides about a call to the cloud. `call` is a name such as `ec2.describeInstances`; `go` makes the real call. */
export type CloudFault = (
  call: string,
  input: unknown,
  go: () => Promise<unknown>,
) => Promise<unknown>;

export interface Replica {
  readonly identity: string;
  readonly operator: Operator;
  readonly log: readonly string[];
  /** Writes sent so far to Kubernetes and to the cloud. Writes to the Lease do not count. */
  readonly writes: number;
  readonly dead: boolean;
  /** Kills the replica at its n-th write from now. `arrives`: whether that write still reaches the server. */
  killAtWrite(n: number, arrives: boolean): void;
  kill(): void;
  /** Makes every later request pass this fault first. */
  meet(fault: Fault | undefined): void;
  /** From now on every call to the cloud passes this fault first: it answers itself, or calls `go`. */
  meetCloud(fault: CloudFault | undefined): void;
  /** Ends every open stream with an error, as a cut connection does. */
  cut(): void;
  /**
   * Open streams of a resource (plural name, such as `pods`) deliver nothing more, but do not end. New streams
   * work.
   */
  silence(plural: string): void;
  /** Delays what streams deliver by up to `ms`, in order; 0 ends the delay. */
  lag(ms: number): void;
}

/** Faults that apply from the replica's first request on. */
export interface FirstMet {
  readonly fault?: Fault;
  readonly cloudFault?: CloudFault;
}

/** `flags`: further settings by name. `ahead`: how far its clock is ahead of the server's. */
export function startReplica(
  world: TestWorld,
  identity: string,
  flags: Readonly<Record<string, string>> = {},
  ahead: () => number = () => 0,
  { fault, cloudFault }: FirstMet = {},
): Replica {
  const { box } = world;
  const lines: string[] = [];
  const wire = new Wire(box.sandbox.transport, world.clock);
  const clock = clockOf(world.clock, wire, ahead);
  wire.fault = fault;
  wire.cloudFault = cloudFault;
  const settings = parseOptions(
    { "cluster-name": CLUSTER, "interruption-queue": CLUSTER, "log-level": "debug", ...flags },
    {},
  );
  const operator = createOperator({
    clock,
    random: new Random(identity),
    transport: wire,
    log: createLogger({
      clock,
      level: "debug",
      encoding: "console",
      commit: "",
      write: (line) => lines.push(line),
    }),
    options: settings,
    createProvider: (doors) =>
      awsProviderOf(doors, wire.aws(box.sandbox.aws.api), settings, "us-west-2"),
    version: "0.0.0",
    commit: "",
    namespace: KARPENTER_NAMESPACE,
    identity,
  });
  void operator.start();
  return {
    identity,
    operator,
    log: lines,
    get writes() {
      return wire.writes;
    },
    get dead() {
      return wire.dead;
    },
    killAtWrite: (n, arrives) => wire.killAtWrite(n, arrives),
    kill: () => wire.kill(),
    meet: (fault) => {
      wire.fault = fault;
    },
    meetCloud: (fault) => {
      wire.cloudFault = fault;
    },
    cut: () => wire.cut(),
    silence: (plural) => wire.silence(plural),
    lag: (ms) => {
      wire.lagMs = ms;
    },
  };
}

/**
 * The clock of a replica. Its timers do not fire once the replica is dead: a killed process computes nothing. A test
 * may kill many, and each would otherwise go on with its loops, which takes as much CPU time as a living one. A
 * dead replica that is stopped may wait for such a timer for ever.
 */
function clockOf(clock: Clock, replica: { readonly dead: boolean }, ahead: () => number): Clock {
  const after: Clock["after"] = (ms, callback) =>
    clock.after(ms, () => {
      if (!replica.dead) callback();
    });
  return {
    now: () => clock.now() + ahead(),
    elapsedMs: () => clock.elapsedMs(),
    turnMs: () => clock.turnMs(),
    sleep: (ms) => new Promise((resolve) => after(ms, resolve)),
    after,
  };
}

/** A server's answer that refuses a request. */
export function refusal(status: number, reason: string): KubeResponse {
  const body = { kind: "Status", status: "Failure", code: status, reason, message: reason };
  return { status, headers: {}, body };
}

const NEVER = new Promise<never>(() => undefined);

class Wire implements Transport {
  readonly #server: Transport;
  readonly #clock: Clock;
  readonly #streams = new Set<CutStream>();
  #dieAt = Number.POSITIVE_INFINITY;
  #lastArrives = true;
  fault: Fault | undefined;
  cloudFault: CloudFault | undefined;
  lagMs = 0;
  writes = 0;
  dead = false;

  constructor(server: Transport, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
  }

  killAtWrite(n: number, arrives: boolean): void {
    this.#dieAt = this.writes + n;
    this.#lastArrives = arrives;
  }

  kill(): void {
    this.dead = true;
    for (const stream of this.#streams) stream.end(false);
  }

  cut(): void {
    for (const stream of this.#streams) stream.end(true);
  }

  silence(plural: string): void {
    for (const stream of this.#streams) if (stream.path.includes(`/${plural}?`)) stream.silence();
  }

  async send(request: KubeRequest): Promise<KubeResponse> {
    if (this.dead) return NEVER;
    const isWrite = request.method !== "GET" && !request.path.includes("/leases");
    return this.#through(isWrite, () => this.#send(request));
  }

  /** The API of AWS as this replica reaches it. */
  aws(api: AwsApi): AwsApi {
    const wrapService = <S extends object>(of: string, service: S): S =>
      new Proxy(service, {
        get: (target, name, receiver) => {
          const method = Reflect.get(target, name, receiver) as unknown;
          if (typeof method !== "function") return method;
          const isWrite = !/^(describe|get|list|receive)/.test(String(name));
          return (...args: unknown[]) =>
            this.dead
              ? NEVER
              : this.#through(isWrite, () => {
                  const go = () => method.apply(target, args) as Promise<unknown>;
                  return this.cloudFault?.(`${of}.${String(name)}`, args[0], go) ?? go();
                });
        },
      });
    return Object.fromEntries(
      Object.entries(api).map(([name, service]) => [name, wrapService(name, service as object)]),
    ) as unknown as AwsApi;
  }

  close(): void {
    this.kill();
  }

  async #send(request: KubeRequest): Promise<KubeResponse> {
    const instead = await this.fault?.(request);
    const given = instead ?? (await this.#server.send(request));
    const date = new Date(this.#clock.now()).toUTCString();
    const answer = { ...given, headers: { date, ...given.headers } };
    if (answer.stream === undefined) return answer;
    const stream = new CutStream(request.path, answer.stream, {
      gone: () => this.#streams.delete(stream),
      late: () => (this.lagMs === 0 ? undefined : this.#clock.sleep(this.lagMs)),
      now: () => this.#clock.now(),
    });
    this.#streams.add(stream);
    return { ...answer, stream };
  }

  async #through<T>(isWrite: boolean, call: () => Promise<T>): Promise<T> {
    if (isWrite && ++this.writes >= this.#dieAt) {
      this.kill();
      // The write is sent, but its answer is lost.
      if (this.#lastArrives) await call().catch(() => undefined);
      return NEVER;
    }
    const settled = await call().then(
      (value) => () => value,
      (error: unknown) => () => {
        throw error;
      },
    );
    return this.dead ? NEVER : settled();
  }
}

interface StreamWays {
  readonly gone: () => void;
  /** The wait before each frame. Undefined: there is none. */
  readonly late: () => Promise<void> | undefined;
  readonly now: () => number;
}

/** A stream that a test can cut, silence or delay. */
class CutStream implements KubeStream {
  readonly path: string;
  readonly #inner: KubeStream;
  readonly #ways: StreamWays;
  #failed = false;
  #silent = false;

  constructor(path: string, inner: KubeStream, ways: StreamWays) {
    this.path = path;
    this.#inner = inner;
    this.#ways = ways;
  }

  close(): void {
    this.#ways.gone();
    this.#inner.close();
  }

  end(failed: boolean): void {
    this.#failed = failed;
    this.close();
  }

  silence(): void {
    this.#silent = true;
  }

  async *[Symbol.asyncIterator]() {
    let heardMs: number | undefined;
    for await (const frame of this.#inner) {
      if (this.#silent) continue;
      // A frame that arrived during another frame's delay has waited already: delays do not add up.
      if (this.#ways.now() !== heardMs) await this.#ways.late();
      heardMs = this.#ways.now();
      yield frame;
    }
    if (this.#failed) throw new Error("connection reset");
  }
}
