/** The one call of Service Quotas that is used: the quotas of the account for a service in this region. */
import type { Page, Paged } from "./call.ts";

/** The service whose quotas to list: `ec2` for the vCPUs of instances. */
export interface ListServiceQuotasInput extends Paged {
  readonly ServiceCode: string;
}

/** A quota with the value that applies to this account. */
export interface ServiceQuota {
  /** The code of the quota, such as `L-1216C47A`. It never changes. */
  readonly QuotaCode: string;
  readonly QuotaName: string;
  readonly Value: number;
}

/** A page of quotas: at most 100. */
export interface ListServiceQuotasOutput extends Page {
  readonly Quotas: readonly ServiceQuota[];
}

/** The calls of Service Quotas. */
export interface ServiceQuotasApi {
  listServiceQuotas(input: ListServiceQuotasInput): Promise<ListServiceQuotasOutput>;
}
