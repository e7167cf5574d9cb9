/**
 * The console of a running controller: read-only, on loopback, for users whom the API server permits. It reads with the
 * controller's rights. Its watches are open only while the console is in use.
 */
import type { VitalPoint } from "../../console/views/vitals.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import { liveSource } from "./live-source.ts";
import type { MirroredDoors } from "./mirrored-cluster.ts";
import { reviewBy } from "./review.ts";
import { type ServedConsole, serveConsole } from "./serve-console.ts";

export interface ControllerConsole {
  readonly port: number;
  readonly clusterName: string;
  readonly vitals: () => readonly VitalPoint[];
}

/** Starts to serve the console page. Rejects with PortError if the port cannot be used. */
export function serveControllerConsole(
  doors: MirroredDoors,
  { port, clusterName, vitals }: ControllerConsole,
): Promise<ServedConsole> {
  const review = reviewBy(createKubeClient(doors.transport));
  const source = liveSource({
    ...doors,
    name: clusterName === "" ? "Karpenter" : clusterName,
    mode: "cluster",
    nowMs: () => doors.clock.now(),
    vitals,
  });
  return serveConsole(source, {
    port,
    log: doors.log,
    review: (token) => review(token, "/console"),
  });
}
