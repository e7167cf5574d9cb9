/** The flags of `karpenter sandbox`, parsed. */

/** The kubeconfig if `--kubeconfig` is absent. */
export const DEFAULT_KUBECONFIG = ".karpenter/kubeconfig";

/** Flags of `karpenter sandbox`, as the parser gives them. */
export interface SandboxFlags {
  readonly kubeconfig: string;
  readonly port: number;
  readonly speed: number;
  readonly seed: number;
  readonly provider: "aws" | "kwok";
  readonly clusterName: string;
  readonly region: string;
  readonly kubernetesVersion: string;
  readonly generations: "all" | "beta-only";
  /** Whether machines publish devices for dynamic resource allocation. */
  readonly dra?: boolean;
  /** The file of the simulated kube-scheduler's configuration. */
  readonly kubeSchedulerConfig?: string;
  readonly scenario?: string;
  /** The file for the page of a scenario. */
  readonly html?: string;
  /** Settings of the controller, as `name=value`. */
  readonly setting?: readonly string[];
  readonly output: "text" | "json";
  readonly logLevel: "debug" | "info" | "error";
}
