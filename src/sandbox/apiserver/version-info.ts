/** The sandbox's answer to `/version`, by which programs recognise the sandbox. */

/** A real kube-apiserver has `gc` here, the name of Go's compiler. */
export const SANDBOX_COMPILER = "karpenter-sandbox";

/** The answer for a version such as `1.34.0`, in kube-apiserver's shape. */
export function versionInfo(version: string): unknown {
  const [major = "1", minor = "34"] = version.replace(/^v/, "").split(".");
  return {
    major,
    minor,
    gitVersion: version.startsWith("v") ? version : `v${version}`,
    gitCommit: "0000000000000000000000000000000000000000",
    gitTreeState: "clean",
    buildDate: "2026-01-01T00:00:00Z",
    goVersion: "none",
    compiler: SANDBOX_COMPILER,
    platform: "linux/amd64",
  };
}
