/** The facts about devices (Dynamic Resource Allocation) that a planning pass may use. */
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
  /** Compiles a CEL expression. The CEL engine is not part of `core`, so it is passed in. */
  readonly compile: CompileSelector;
}
