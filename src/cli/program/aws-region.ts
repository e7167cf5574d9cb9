/** Whether a text is the name of a region of AWS: what is none is refused before anything is asked of it. */

/** `eu-west-1`, `us-gov-east-1`, `eusc-de-east-1`. */
const REGION = /^[a-z]{2,}(-[a-z]+)+-\d+$/;

export function isAwsRegion(text: string): boolean {
  return REGION.test(text);
}
