/**
 * Whether a text looks like the name of a region of AWS: what cannot be one is refused before anything is asked of it.
 * By its shape alone, as AWS has new ones sooner than we know of them.
 */

/** `eu-west-1`, `us-gov-east-1`, `eusc-de-east-1`. */
const REGION = /^[a-z]{2,}(-[a-z]+)+-\d+$/;

/** True for a text of a region's form. It does not ask AWS whether the region exists. */
export function isAwsRegion(text: string): boolean {
  return REGION.test(text);
}
