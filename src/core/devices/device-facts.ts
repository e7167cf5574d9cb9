/** What a planning pass may know about devices (Dynamic Resource Allocation). */
import type {
  DeviceClass,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
} from "../../apis/resource/kinds.ts";
import type { CompileSelector } from "./selectors.ts";

export interface DeviceFacts {
  readonly slices: readonly ResourceSlice[];
  readonly claims: readonly ResourceClaim[];
  readonly templates: readonly ResourceClaimTemplate[];
  readonly classes: readonly DeviceClass[];
  /** Reads a CEL expression. The engine lives outside of the deciding code. */
  readonly compile: CompileSelector;
}
