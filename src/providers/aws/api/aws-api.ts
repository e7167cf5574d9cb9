/**
 * Every AWS call that the provider may make. To write an IAM policy or to simulate AWS, reading this folder is enough.
 * Each service has a file, and EC2 one for each kind of resource. Files have only members that are used, named as in
 * AWS's SDK v3.
 * `sdk.ts` is the real implementation, `sandbox/ec2` the simulated one. The permissions for these calls are in
 * `deploy/aws`; a test compares the two.
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

/** All AWS services that the provider calls. */
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
