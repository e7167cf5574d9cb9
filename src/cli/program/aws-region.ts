/**
 * Whether a text has the form of an AWS region's name. Only the form is checked, because new regions appear all the
 * time.
 */

/** Matches names of AWS regions such as `eu-west-1`, `us-gov-east-1`, `eusc-de-east-1`. */
const REGION = /^[a-z]{2,}(-[a-z]+)+-\d+$/;

/** True for a text of a region's form. It does not ask AWS whether the region exists. */
export function isAwsRegion(text: string): boolean {
  return REGION.test(text);
}
