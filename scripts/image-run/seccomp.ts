/**
 * The seccomp profile `RuntimeDefault` for runc. Container engines keep it in their own form, with conditions.
 * runc needs a profile without conditions, here for a container without any capability.
 * https://github.com/containers/common: pkg/seccomp/types.go
 */

/** A profile as containers-common and docker keep it. */
export interface EngineProfile {
  readonly defaultAction: string;
  readonly defaultErrnoRet?: number;
  readonly archMap?: readonly {
    readonly architecture: string;
    readonly subArchitectures?: readonly string[] | null;
  }[];
  readonly syscalls: readonly {
    readonly names: readonly string[];
    readonly action: string;
    readonly args?: readonly object[] | null;
    readonly errnoRet?: number;
    readonly includes?: Conditions;
    readonly excludes?: Conditions;
  }[];
}

interface Conditions {
  readonly arches?: readonly string[] | null;
  readonly caps?: readonly string[] | null;
}

const ARCHITECTURES: Readonly<Record<string, string>> = {
  amd64: "SCMP_ARCH_X86_64",
  arm64: "SCMP_ARCH_AARCH64",
};

/**
 * The profile with its conditions decided. Rules that need a capability are dropped; rules that a capability would
 * exclude are kept. `architecture`: Go's name.
 */
export function runtimeDefault(profile: EngineProfile, architecture: string): object {
  const native = ARCHITECTURES[architecture];
  const more = profile.archMap?.find((one) => one.architecture === native)?.subArchitectures ?? [];
  return {
    defaultAction: profile.defaultAction,
    ...(profile.defaultErrnoRet === undefined ? {} : { defaultErrnoRet: profile.defaultErrnoRet }),
    architectures: [native, ...more],
    syscalls: profile.syscalls
      .filter(
        ({ includes = {}, excludes = {} }) =>
          (includes.caps ?? []).length === 0 &&
          (includes.arches?.includes(architecture) ?? true) &&
          !(excludes.arches ?? []).includes(architecture),
      )
      .map(({ names, action, args, errnoRet }) => ({
        names,
        action,
        ...(args == null || args.length === 0 ? {} : { args }),
        ...(errnoRet === undefined ? {} : { errnoRet }),
      })),
  };
}
