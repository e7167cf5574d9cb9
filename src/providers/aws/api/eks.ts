/** The calls of EKS: the cluster. */

/** The members are lower-case on the wire, as in the SDK. */
export interface EksCluster {
  readonly name: string;
  readonly arn?: string;
  readonly version?: string;
  readonly endpoint?: string;
  readonly status?: string;
  /** Base64 PEM. */
  readonly certificateAuthority?: { readonly data?: string };
  readonly kubernetesNetworkConfig?: {
    readonly serviceIpv4Cidr?: string;
    readonly serviceIpv6Cidr?: string;
    readonly ipFamily?: string;
  };
}

/** The EKS cluster's name. */
export interface DescribeClusterInput {
  readonly name: string;
}

/** Version, endpoint, certificate authority and network of the cluster. */
export interface DescribeClusterOutput {
  readonly cluster: EksCluster;
}

/** The EKS calls that are used. */
export interface EksApi {
  /** Unknown names reject with `ResourceNotFoundException`. */
  describeCluster(input: DescribeClusterInput): Promise<DescribeClusterOutput>;
}
