/** The calls of EKS: the cluster. */

/** Names of members are lower-case in requests and responses, as in the SDK. */
export interface EksCluster {
  readonly name: string;
  readonly arn?: string;
  readonly version?: string;
  readonly endpoint?: string;
  readonly status?: string;
  /** The cluster's CA as PEM text in base64. */
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
  /** Rejects with `ResourceNotFoundException` if the cluster does not exist. */
  describeCluster(input: DescribeClusterInput): Promise<DescribeClusterOutput>;
}
