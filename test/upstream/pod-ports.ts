/**
 * Makes the port of a pod reachable through a real kube-apiserver whose kubelets kwok plays. The pod's process runs on
 * this machine. kube-apiserver's pod proxy asks the pod's own address, which `playDeployment` sets. Its port-forward
 * asks the kubelet of the pod's Node, and kwok answers there with the port of this machine.
 */
import { writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { freePort } from "../../src/testing/free-port.ts";
import type { ControlPlaneOptions } from "../cluster/control-plane.ts";

type Arguments = NonNullable<ControlPlaneOptions["extraArguments"]>;

/** Arguments of kube-apiserver and kwok. kwok's configuration is written into the folder. */
export async function podPortArguments(directory: string, port: number): Promise<Arguments> {
  const config = join(directory, "pod-ports.yaml");
  writeFileSync(config, forwardTo(port));
  const kubelet = await freePort();
  return {
    // By default it asks the Node's host name first. No name of a simulated node can be resolved.
    "kube-apiserver": ["--kubelet-preferred-address-types=InternalIP"],
    // kwok writes the address and the port into the status of each Node that it starts.
    kwok: [
      `--config=${config}`,
      "--node-ip=127.0.0.1",
      `--node-port=${kubelet}`,
      `--server-address=127.0.0.1:${kubelet}`,
    ],
  };
}

function forwardTo(port: number): string {
  return `kind: ClusterPortForward
apiVersion: kwok.x-k8s.io/v1alpha1
metadata:
  name: this-machine
spec:
  forwards:
  - ports: [${port}]
    target: { port: ${port}, address: 127.0.0.1 }
`;
}

/** An IPv4 address of this machine that is not loopback: kube-apiserver's pod proxy refuses loopback. */
export function ownAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}
