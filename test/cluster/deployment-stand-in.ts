/**
 * Plays the kubelet for a Deployment whose pods must be real processes, on a control plane without kubelets. Each
 * pod that has a node gets one process, with the environment of the pod's only container. The host name of the
 * process is the pod's name, as in a container, so the holder of a Lease names the pod.
 * The real controllers make a rollout: its new pods get new processes, and the process of a terminating pod is
 * told to end. A process that ends by itself is started again and counted in the pod's `restartCount`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, closeSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { POD, type Pod } from "../../src/apis/core/pod.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";

export interface StandInOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Label selector of the pods that get a process. */
  readonly labelSelector: string;
  /**
   * The command of a pod's process; a function if it depends on the image. The environment of the container is
   * added to it.
   */
  readonly command: readonly string[] | ((image: string) => readonly string[]);
  readonly env: Readonly<Record<string, string>>;
  /** Variables whose values differ from those in a container: ports, and what a kubelet fills in. */
  readonly instead?: Readonly<Record<string, string>>;
  /**
   * An address of this machine at which the API server reaches the ports of the processes, for its pod proxy. It
   * becomes the address of each pod that runs. Absent: pods keep the address that they have.
   */
  readonly address?: string | undefined;
  /** The file for standard output and standard error of every process. */
  readonly logFile: string;
}

export interface StandIn {
  /** Ends all processes. */
  stop(): Promise<void>;
}

const LOOK_MS = 250;
const RESTART_AFTER_MS = 1_000;
const KILL_AFTER_MS = 20_000;

/**
 * Gives the process a host name of its own, and kills it (SIGKILL) when the parent ends. Without root, setting the
 * host name needs a user namespace.
 */
const WRAPPED = [
  "setpriv",
  ...["--pdeathsig", "KILL", "unshare", "--uts"],
  ...(process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"]),
  ...["sh", "-c", 'echo "$0" >/proc/sys/kernel/hostname && exec "$@"'],
];

interface Running {
  child: ChildProcess;
  isWanted: boolean;
}

/** Starts to play the kubelet. It checks the pods until it is stopped. */
export function playDeployment(options: StandInOptions): StandIn {
  const { client, namespace, labelSelector } = options;
  const running = new Map<string, Running>();
  let isStopped = false;

  const look = async (): Promise<void> => {
    const { items } = await client.list<Pod>(POD, { namespace, labelSelector });
    const wanted = new Map(items.filter(isToRun).map((pod) => [pod.metadata.uid ?? "", pod]));
    for (const [uid, one] of running) {
      if (wanted.has(uid)) continue;
      running.delete(uid);
      one.isWanted = false;
      end(one.child);
    }
    for (const [uid, pod] of wanted) {
      if (!running.has(uid)) running.set(uid, start(pod, options));
      await giveAddress(pod, options);
    }
  };
  const looking = (async () => {
    while (!isStopped) {
      // The server may be away for a moment: look again later.
      await look().catch((error: unknown) => note(options.logFile, String(error)));
      await sleep(LOOK_MS);
    }
  })();
  return {
    stop: async () => {
      isStopped = true;
      await looking;
      await Promise.all(
        [...running.values()].map(async (one) => {
          one.isWanted = false;
          const ended = hasEnded(one.child)
            ? undefined
            : new Promise((resolve) => one.child.once("exit", resolve));
          end(one.child);
          await ended;
        }),
      );
    },
  };
}

/** Replaces the address that kwok made up for a running pod. Earlier, kwok would not start the pod. */
async function giveAddress(pod: Pod, { client, address }: StandInOptions): Promise<void> {
  const { phase, podIP } = (pod.status ?? {}) as { phase?: string; podIP?: string };
  if (address === undefined || phase !== "Running" || podIP === address) return;
  const { name, namespace } = pod.metadata;
  const body = { status: { podIP: address, podIPs: [{ ip: address }] } };
  await client.patch(POD, { name, namespace }, { type: "merge", body }, "status");
}

function isToRun({ metadata, spec }: Pod): boolean {
  return spec.nodeName !== undefined && metadata.deletionTimestamp === undefined;
}

function start(pod: Pod, options: StandInOptions): Running {
  const running: Running = { child: run(pod, options), isWanted: true };
  const watch = (): void => {
    running.child.once("exit", (code, signal) => {
      if (!running.isWanted) return;
      note(options.logFile, `${pod.metadata.name} ended by itself: ${code ?? signal}`);
      setTimeout(() => {
        if (!running.isWanted) return;
        running.child = run(pod, options);
        watch();
        countRestart(pod, options).catch((error: unknown) => note(options.logFile, String(error)));
      }, RESTART_AFTER_MS);
    });
  };
  watch();
  return running;
}

function run(pod: Pod, { command, env, instead, logFile }: StandInOptions): ChildProcess {
  const log = openSync(logFile, "a");
  const container = pod.spec.containers[0] as Container | undefined;
  const line = typeof command === "function" ? command(container?.image ?? "") : command;
  const [program, ...args] = [...WRAPPED, pod.metadata.name, ...line];
  const given = container?.env ?? [];
  const own = Object.fromEntries(given.map(({ name, value = "" }) => [name, value]));
  note(logFile, `${pod.metadata.name} starts`);
  const child = spawn(program as string, args, {
    stdio: ["ignore", log, log],
    env: { ...process.env, ...env, ...own, ...instead },
  });
  closeSync(log);
  return child;
}

interface Container {
  readonly image?: string;
  readonly env?: readonly EnvVar[];
}

interface EnvVar {
  readonly name: string;
  readonly value?: string;
}

async function countRestart({ metadata }: Pod, { client }: StandInOptions): Promise<void> {
  const ref = { name: metadata.name, namespace: metadata.namespace };
  const { status } = await client.get<Pod>(POD, ref);
  const statuses = (
    status as { containerStatuses?: readonly { restartCount: number }[] } | undefined
  )?.containerStatuses;
  const containerStatuses = statuses?.map((one) => ({
    ...one,
    restartCount: one.restartCount + 1,
  }));
  await client.patch(
    POD,
    ref,
    { type: "merge", body: { status: { containerStatuses } } },
    "status",
  );
}

function end(child: ChildProcess): void {
  if (hasEnded(child)) return;
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
  child.once("exit", () => clearTimeout(late));
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function note(logFile: string, what: string): void {
  appendFileSync(logFile, `--- ${what}\n`);
}
