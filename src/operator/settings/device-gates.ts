/** Which devices of AWS's instance types pods may claim, by the settings. */
import type { DeviceGates } from "../../providers/aws/dra/templates.ts";
import { isAwsGateOn, type Options } from "./parse-options.ts";

/** The feature gates for devices. Undefined: resource claims are ignored, so the gates have no effect. */
export function deviceGates(options: Options): DeviceGates | undefined {
  if (options.ignoreDraRequests) return undefined;
  return {
    nvidiaGpu: isAwsGateOn(options, "DRANVIDIAGPU"),
    efa: isAwsGateOn(options, "DRAEFA"),
    neuron: isAwsGateOn(options, "DRANeuron"),
  };
}
