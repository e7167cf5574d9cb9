/** What the real kube-scheduler did in each generated case of dynamic resource allocation. */
import { fileURLToPath } from "node:url";
import type { ResourceClaim } from "../../../src/apis/resource/kinds.ts";

export type DeviceAnswer = { readonly node: string } | { readonly refused: string };

export interface RecordedCase {
  /** The answers about the pods, in the order of the pods. */
  readonly pods: readonly DeviceAnswer[];
  /**
   * The devices of each claim, in the order of the claims. Each list is sorted, with items such as `request
   * driver/pool/device`.
   */
  readonly devices: readonly (readonly string[])[];
}

export interface RecordedDevices {
  readonly kubernetes: string;
  readonly gates: string;
  readonly answers: readonly RecordedCase[];
}

export const CASES = 500;
export const RECORDING = fileURLToPath(new URL("../recorded/devices.json", import.meta.url));

/** The allocated devices of a claim, sorted. */
export function devicesOf({ status }: ResourceClaim): readonly string[] {
  return (status?.allocation?.devices?.results ?? [])
    .map(({ request, driver, pool, device }) => `${request} ${driver}/${pool}/${device}`)
    .sort();
}
