/**
 * Files that the bundled program reads at run time, by path from the project's root. An image's build needs all of
 * them.
 */
export const BUNDLE_DATA = [
  "data",
  "deploy/aws/policies",
  "deploy/charts/karpenter/values.schema.json",
  "deploy/crds",
  "examples",
];
