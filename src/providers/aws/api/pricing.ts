/** The calls of Pricing: on-demand prices. */
import type { Page, Paged } from "./call.ts";

export interface PricingFilter {
  readonly Type: "TERM_MATCH";
  readonly Field: string;
  readonly Value: string;
}

export interface GetProductsInput extends Paged {
  readonly ServiceCode: "AmazonEC2";
  readonly Filters: readonly PricingFilter[];
}

export interface GetProductsOutput extends Page {
  /** One JSON document a product, as text: `product.attributes.instanceType`, `terms.OnDemand…`. */
  readonly PriceList: readonly string[];
}

export interface PricingApi {
  getProducts(input: GetProductsInput): Promise<GetProductsOutput>;
}
