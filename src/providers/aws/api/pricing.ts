/** The calls of Pricing: on-demand prices. */
import type { Page, Paged } from "./call.ts";

/** All filters of a call must match. */
export interface PricingFilter {
  readonly Type: "TERM_MATCH";
  readonly Field: string;
  readonly Value: string;
}

/** Products of EC2. */
export interface GetProductsInput extends Paged {
  readonly ServiceCode: "AmazonEC2";
  readonly Filters: readonly PricingFilter[];
}

/** Prices are inside the documents, by offer term. */
export interface GetProductsOutput extends Page {
  /** One JSON document a product, as text: `product.attributes.instanceType`, `terms.OnDemand…`. */
  readonly PriceList: readonly string[];
}

/** The calls of the Pricing service, which exists in a few regions only. */
export interface PricingApi {
  getProducts(input: GetProductsInput): Promise<GetProductsOutput>;
}
