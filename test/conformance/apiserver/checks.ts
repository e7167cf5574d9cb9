/** All checks, by the name of the file with their recorded answers. */
import { ACCESS_CHECKS } from "./access.ts";
import { APPLY_CHECKS } from "./applying.ts";
import { AUTOSCALER_CHECKS } from "./autoscalers.ts";
import type { Check } from "./check.ts";
import { CONVERSION_CHECKS } from "./conversions.ts";
import { CUSTOM_CHECKS } from "./custom.ts";
import { ENDING_CHECKS } from "./ending.ts";
import { ENFORCEMENT_CHECKS } from "./enforcement.ts";
import { FOREIGN_CHECKS } from "./foreign-kinds.ts";
import { KIND_CHECKS } from "./kinds.ts";
import { LIMIT_CHECKS } from "./limits.ts";
import { LIST_CHECKS } from "./listing.ts";
import { OBJECT_CHECKS } from "./objects.ts";
import { PATCH_CHECKS } from "./patching.ts";
import { PLUGIN_CHECKS } from "./plugins.ts";
import { POLICY_CHECKS } from "./policies.ts";
import { QUOTA_CHECKS } from "./quotas.ts";
import { SERVICE_CHECKS } from "./services.ts";
import { STRICTNESS_CHECKS } from "./strictness.ts";
import { SUBRESOURCE_CHECKS } from "./subresources.ts";
import { WEBHOOK_CHECKS } from "./webhooks.ts";
import { WORKLOAD_CHECKS } from "./workloads.ts";

export const CHECKS: Readonly<Record<string, readonly Check[]>> = {
  objects: [...OBJECT_CHECKS, ...PATCH_CHECKS],
  applying: APPLY_CHECKS,
  workloads: WORKLOAD_CHECKS,
  listing: LIST_CHECKS,
  ending: ENDING_CHECKS,
  custom: CUSTOM_CHECKS,
  foreign: FOREIGN_CHECKS,
  kinds: [...KIND_CHECKS, ...SERVICE_CHECKS, ...AUTOSCALER_CHECKS],
  access: ACCESS_CHECKS,
  strictness: STRICTNESS_CHECKS,
  subresources: SUBRESOURCE_CHECKS,
  webhooks: [...WEBHOOK_CHECKS, ...CONVERSION_CHECKS],
  admission: [...POLICY_CHECKS, ...PLUGIN_CHECKS, ...ENFORCEMENT_CHECKS],
  limits: [...LIMIT_CHECKS, ...QUOTA_CHECKS],
};
