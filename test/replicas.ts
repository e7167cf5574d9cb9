/**
 * Replicas of Karpenter beside a sandbox, each with its own connections that a test may cut: killed as by
 * `kill -9` at its n-th write (what was sent may have arrived, no answer is heard, nothing is sent any more),
 * or made to meet a server that misbehaves. All on virtual time.
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

/** What a request meets; `undefined` = it goes through. A returned answer is given instead of the server's. */
export type Fault = (request: KubeRequest) => Promise<KubeResponse | undefined>;

/** What a call of the cloud meets: `ec2.describeInstances`, its input, and the call itself. */
export type CloudFault = (
  call: string,
  input: unknown,
  go: () => Promise<unknown>,
) => Promise<unknown>;

export interface Replica {
  readonly identity: string;
  readonly operator: Operator;
  readonly log: readonly string[];
  /** Writes sent so far, to Kubernetes and to the cloud; the Lease's do not count. */
  readonly writes: number;
  readonly dead: boolean;
  /** Dies at its n-th write from now. `arrives`: whether that one still reaches the server. */
  killAtWrite(n: number, arrives: boolean): void;
  kill(): void;
  /** Every request from now on goes through this. */
  meet(fault: Fault | undefined): void;
  /** Every call of the cloud from now on goes through this: it answers in its place, or calls `go`. */
  meetCloud(fault: CloudFault | undefined): void;
  /** Ends every open stream, with an error as a cut connection does. */
  cut(): void;
  /** Streams of a plural (`pods`) bring nothing more and do not end; new ones work. */
  silence(plural: string): void;
  /** What streams bring from now on comes as much later at most, and in order; 0 again: at once. */
  lag(ms: number): void;
}

/** What a replica meets from its first request on. */
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
  const clock = aheadOf(world.clock, ahead);
  const lines: string[] = [];
  const wire = new Wire(box.sandbox.transport, world.clock);
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

function aheadOf(clock: Clock, ahead: () => number): Clock {
  return {
    now: () => clock.now() + ahead(),
    elapsedMs: () => clock.elapsedMs(),
    turnMs: () => clock.turnMs(),
    sleep: (ms) => clock.sleep(ms),
    after: (ms, callback) => clock.after(ms, callback),
  };
}

/** What a server says that does not do as it is asked. */
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

  /** The cloud as this replica reaches it. */
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
      // Sent, but the answer is heard by nobody.
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
  /** To be waited for before each frame. */
  readonly late: () => Promise<void> | undefined;
  readonly now: () => number;
}

/** A stream that can be broken from here, fall silent or run late. */
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
      // What is there at once came while another was late: it has waited, and delays do not add up.
      if (this.#ways.now() !== heardMs) await this.#ways.late();
      heardMs = this.#ways.now();
      yield frame;
    }
    if (this.#failed) throw new Error("connection reset");
  }
}
