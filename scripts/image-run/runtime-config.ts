/**
 * The `config.json` for runc: what a kubelet and its runtime make of an image and a pod's only container. The
 * container is read-only, without capabilities and with the seccomp profile, as far as the pod's security context
 * says so. https://github.com/opencontainers/runtime-spec: config.md, config-linux.md.
 */
import type { ImageConfig } from "./unpack.ts";

export interface PodSecurityContext {
  readonly fsGroup?: number;
  readonly seccompProfile?: { readonly type: string };
}

export interface SecurityContext {
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly capabilities?: { readonly drop?: readonly string[] };
}

export interface ContainerAsk {
  /** The command that replaces the image's entry point. */
  readonly command?: readonly string[];
  /** The arguments of the program. Default: the image's own arguments. */
  readonly args?: readonly string[];
  /** Variables that are added to the image's variables. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly securityContext?: SecurityContext;
  readonly podSecurityContext?: PodSecurityContext;
  readonly memoryBytes?: number;
  readonly isHostNetwork?: boolean;
  /** Path in the container → file or folder of this machine, mounted read-only. */
  readonly mounts?: Readonly<Record<string, string>>;
}

export interface RunsOn {
  /** The root file system. */
  readonly root: string;
  /** The profile `RuntimeDefault` in runc's form; undefined if this machine has none. */
  readonly seccomp?: object;
  /** Path of the emulator for the image's platform, if one is needed. */
  readonly emulator?: string;
}

/** The capabilities that containerd gives a container by default. */
const CAPABILITIES =
  "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE";
const PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const MASKED = "acpi asound kcore keys latency_stats timer_list timer_stats sched_debug scsi";
const READ_ONLY = "bus fs irq sys sysrq-trigger";
/** The emulator's path in the container. */
const EMULATOR = "/emulator";
const NAMESPACES = ["pid", "ipc", "uts", "mount"] as const;

/** The configuration. Throws an Error where a kubelet would refuse to start the container. */
export function runtimeConfig(image: ImageConfig, asked: ContainerAsk, on: RunsOn): object {
  const { securityContext: asks = {}, podSecurityContext: pod = {} } = asked;
  const isEmulated = on.emulator !== undefined;
  const mounts = { ...asked.mounts, ...(isEmulated ? { [EMULATOR]: on.emulator } : {}) };
  const { config } = image;
  const user = userOf(config.User, asks);
  if (asks.runAsNonRoot && user.uid === 0)
    throw new Error("runAsNonRoot is asked for, and the image runs as root");
  const isDropped = asks.capabilities?.drop?.includes("ALL") ?? false;
  const capabilities = isDropped ? [] : CAPABILITIES.split(" ").map((name) => `CAP_${name}`);
  const isConfined = pod.seccompProfile?.type === "RuntimeDefault" && on.seccomp !== undefined;
  return {
    ociVersion: "1.0.2",
    process: {
      terminal: false,
      user: { ...user, additionalGids: pod.fsGroup === undefined ? [] : [pod.fsGroup] },
      args: [
        ...(isEmulated ? [EMULATOR] : []),
        ...(asked.command ?? config.Entrypoint ?? []),
        ...(asked.args ?? config.Cmd ?? []),
      ],
      env: environmentOf(config.Env ?? [], asked.environment ?? {}),
      cwd: config.WorkingDir ?? "/",
      // As a container runtime does: a user other than root has no effective capability before an exec.
      capabilities: {
        bounding: capabilities,
        permitted: user.uid === 0 ? capabilities : [],
        effective: user.uid === 0 ? capabilities : [],
        inheritable: [],
        ambient: [],
      },
      noNewPrivileges: asks.allowPrivilegeEscalation === false,
    },
    root: { path: on.root, readonly: asks.readOnlyRootFilesystem ?? false },
    hostname: "karpenter",
    mounts: [...systemMounts(), ...Object.entries(mounts).map(readOnlyMount)],
    linux: {
      namespaces: [...NAMESPACES, ...(asked.isHostNetwork ? [] : ["network"])].map((type) => ({
        type,
      })),
      maskedPaths: [...MASKED.split(" ").map((name) => `/proc/${name}`), "/sys/firmware"],
      readonlyPaths: READ_ONLY.split(" ").map((name) => `/proc/${name}`),
      resources: {
        devices: [{ allow: false, access: "rwm" }],
        ...(asked.memoryBytes === undefined
          ? {}
          : { memory: { limit: asked.memoryBytes, swap: asked.memoryBytes } }),
      },
      ...(isConfined ? { seccomp: on.seccomp } : {}),
    },
  };
}

/** The user to run as. A kubelet cannot check a user name, so the image must have numbers. */
function userOf(
  inImage: string | undefined,
  { runAsUser, runAsGroup }: SecurityContext,
): { readonly uid: number; readonly gid: number } {
  const [uid = 0, gid = 0] = (inImage ?? "0:0").split(":").map(Number);
  if (!Number.isInteger(uid) || !Number.isInteger(gid))
    throw new Error(`the image's user is "${inImage}", and not a number`);
  return { uid: runAsUser ?? uid, gid: runAsGroup ?? gid };
}

/** The image's variables and the given ones, which take precedence. */
function environmentOf(
  inImage: readonly string[],
  given: Readonly<Record<string, string>>,
): readonly string[] {
  const all = new Map<string, string>();
  for (const pair of [PATH, ...inImage]) {
    const at = pair.indexOf("=");
    all.set(pair.slice(0, at), pair.slice(at + 1));
  }
  for (const [name, value] of Object.entries(given)) all.set(name, value);
  return [...all].map(([name, value]) => `${name}=${value}`);
}

function readOnlyMount([destination, source]: readonly [string, string]): object {
  return { destination, source, type: "bind", options: ["rbind", "ro", "nosuid", "nodev"] };
}

function systemMounts(): readonly object[] {
  const mount = (destination: string, type: string, options: string, source = type) => ({
    destination,
    type,
    source,
    options: options.split(" "),
  });
  return [
    mount("/proc", "proc", "nosuid noexec nodev"),
    mount("/dev", "tmpfs", "nosuid strictatime mode=755 size=65536k"),
    mount("/dev/pts", "devpts", "nosuid noexec newinstance ptmxmode=0666 mode=0620"),
    mount("/dev/shm", "tmpfs", "nosuid noexec nodev mode=1777 size=65536k", "shm"),
    mount("/dev/mqueue", "mqueue", "nosuid noexec nodev"),
    mount("/sys", "sysfs", "nosuid noexec nodev ro"),
    mount("/sys/fs/cgroup", "cgroup", "nosuid noexec nodev relatime ro"),
  ];
}
