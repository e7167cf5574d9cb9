/** The calls of Pricing: on-demand prices. */
import type { Page, Paged } from "./call.ts";

/** A filter on an attribute of products. All filters of a call must match. */
export interface PricingFilter {
  readonly Type: "TERM_MATCH";
  readonly Field: string;
  readonly Value: string;
}

/** Which products of EC2 to read. */
export interface GetProductsInput extends Paged {
  readonly ServiceCode: "AmazonEC2";
  readonly Filters: readonly PricingFilter[];
}

/** A page of products. Their prices are inside the documents, by offer term. */
export interface GetProductsOutput extends Page {
  /** The products, each as the text of a JSON document: `product.attributes.instanceType`, `terms.OnDemand…`. */
  readonly PriceList: readonly string[];
}

/** The calls of the Pricing service, which exists in a few regions only. */
export interface PricingApi {
  getProducts(input: GetProductsInput): Promise<GetProductsOutput>;
}
