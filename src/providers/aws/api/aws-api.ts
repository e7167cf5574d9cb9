/**
 * Every AWS call that the provider may make: whoever writes an IAM policy or simulates AWS reads this folder alone.
 * Shapes are our own minimal ones with AWS's member names (as in SDK v3), a file a service, EC2's by noun. `sdk.ts` is the
 * real implementation; `sandbox/ec2` answers in process. The permissions that these calls need are in `deploy/aws`; a
 * test compares the two.
 */
import type { Ec2Api } from "./ec2.ts";
import type { EksApi } from "./eks.ts";
import type { IamApi } from "./iam.ts";
import type { PricingApi } from "./pricing.ts";
import type { ServiceQuotasApi } from "./service-quotas.ts";
import type { SqsApi } from "./sqs.ts";
import type { SsmApi } from "./ssm.ts";
import type { StsApi } from "./sts.ts";
import type { ZonalShiftApi } from "./zonal-shift.ts";

/** All of AWS that the provider knows. */
export interface AwsApi {
  readonly ec2: Ec2Api;
  readonly ssm: SsmApi;
  readonly iam: IamApi;
  readonly eks: EksApi;
  readonly pricing: PricingApi;
  readonly sts: StsApi;
  readonly sqs: SqsApi;
  readonly zonalShift: ZonalShiftApi;
  readonly servicequotas: ServiceQuotasApi;
}
