/** Manifests that many tests apply, as YAML. */

/** Fields of a test's NodePool. Texts are YAML. */
interface PoolManifest {
  readonly nodeClass?: "EC2NodeClass" | "KWOKNodeClass";
  /** Further lines of the template's spec. */
  readonly template?: string;
  /** Items of the NodePool's `requirements`. */
  readonly requirements: readonly string[];
  readonly limits?: string;
  readonly disruption?: string;
}

const GROUPS = { EC2NodeClass: "karpenter.k8s.aws", KWOKNodeClass: "karpenter.kwok.sh" } as const;

export const ON_DEMAND = "{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}";

/** A NodePool `default` of the node class `default`. */
export function poolManifest({
  nodeClass = "EC2NodeClass",
  template,
  requirements,
  limits,
  disruption,
}: PoolManifest): string {
  return [
    "",
    "apiVersion: karpenter.sh/v1",
    "kind: NodePool",
    "metadata: {name: default}",
    "spec:",
    ...(limits === undefined ? [] : [`  limits: ${limits}`]),
    ...(disruption === undefined ? [] : [`  disruption: ${disruption}`]),
    "  template:",
    "    spec:",
    `      nodeClassRef: {group: ${GROUPS[nodeClass]}, kind: ${nodeClass}, name: default}`,
    ...(template === undefined ? [] : [`      ${template}`]),
    `      requirements: [${requirements.join(", ")}]`,
    "",
  ].join("\n");
}

/** A KWOKNodeClass `default`, and a NodePool with it. */
export function kwokPoolManifest(pool: Omit<PoolManifest, "nodeClass">): string {
  const nodeClass = [
    "",
    "apiVersion: karpenter.kwok.sh/v1alpha1",
    "kind: KWOKNodeClass",
    "metadata: {name: default}",
    "spec: {}",
    "---",
  ];
  return nodeClass.join("\n") + poolManifest({ ...pool, nodeClass: "KWOKNodeClass" });
}

/** The EC2NodeClass `default` of the sandbox. `more`: a further line of its spec. */
export function awsClassManifest(more?: string): string {
  const tags = "[{tags: {karpenter.sh/discovery: karpenter-demo}}]";
  const nodeClass = [
    "",
    "apiVersion: karpenter.k8s.aws/v1",
    "kind: EC2NodeClass",
    "metadata: {name: default}",
    "spec:",
    "  role: KarpenterNodeRole-karpenter-demo",
    "  amiSelectorTerms: [{alias: al2023@latest}]",
    `  subnetSelectorTerms: ${tags}`,
    `  securityGroupSelectorTerms: ${tags}`,
    ...(more === undefined ? [] : [`  ${more}`]),
    "---",
  ];
  return nodeClass.join("\n");
}

/** The EC2NodeClass `default` of the sandbox and an on-demand NodePool of it. `more`: a further line of the class. */
export function awsPoolManifest({
  more,
  ...pool
}: Partial<PoolManifest> & { readonly more?: string } = {}): string {
  return awsClassManifest(more) + poolManifest({ requirements: [ON_DEMAND], ...pool });
}

/** A Deployment `web` whose pods request one core each. */
export function webManifest(replicas: number): string {
  return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: pause, resources: {requests: {cpu: "1"}}}]}
`;
}

/** A pod that fits on no instance type. */
export const HUGE_POD = `
apiVersion: v1
kind: Pod
metadata: { name: huge, namespace: default }
spec:
  containers: [{ name: a, image: a, resources: { requests: { cpu: 5000 } } }]
`;
