/** The host ports of pods, and when two of them conflict. upstream: pkg/scheduling/hostportusage.go */
import type { Pod, PodSpec } from "./pod.ts";
import { perTemplate } from "./pod-template.ts";

/** A port of the node that a container uses. `protocol` is TCP, UDP or SCTP. */
export interface HostPort {
  /** The address of the node. `0.0.0.0` means every address. */
  readonly ip: string;
  readonly port: number;
  readonly protocol: string;
}

const UNSPECIFIED = new Set(["0.0.0.0", "::"]);

/** Host ports of containers and sidecars, in order. */
export function hostPorts({ spec }: Pod): readonly HostPort[] {
  return portsOf(spec);
}

const portsOf = perTemplate((spec): readonly HostPort[] => {
  const sidecars = (spec.initContainers ?? []).filter((one) => one.restartPolicy === "Always");
  return [...(spec.containers ?? []), ...sidecars].flatMap((container) =>
    (container.ports ?? [])
      .map((one) => ({ ...one, hostPort: hostPortOf(spec, one) }))
      .filter((one) => one.hostPort > 0)
      .map((one) => ({
        ip: one.hostIP || "0.0.0.0",
        port: one.hostPort,
        protocol: one.protocol || "TCP",
      })),
  );
});

/** The host port for a container port. With hostNetwork every container port is a host port. */
function hostPortOf(spec: PodSpec, port: { hostPort?: number; containerPort: number }): number {
  return port.hostPort || (spec.hostNetwork === true ? port.containerPort : 0);
}

/** Whether two pods with these ports cannot run on one node. An unspecified address conflicts with every address. */
export function hostPortsConflict(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || UNSPECIFIED.has(a.ip) || UNSPECIFIED.has(b.ip);
}

/** The key of a port in sets, such as `0.0.0.0:80/TCP`. */
export function hostPortKey(port: HostPort): string {
  return `${port.ip}:${port.port}/${port.protocol}`;
}
