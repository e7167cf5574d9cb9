/**
 * Where the simulated AWS and moto answer differently, and why the simulated answer is kept. `where` matches
 * `<question>: <path>: ours …, moto …`. Each entry must match a difference, and each difference an entry.
 */
export interface KnownDifference {
  readonly where: RegExp;
  readonly why: string;
}

export const DIFFERENCES: readonly KnownDifference[] = [
  // Differences of the accounts, not of the emulators.
  {
    where: /^subnets by id: Subnets\[0\]\.(AvailableIpAddressCount|MapPublicIpOnLaunch): /,
    why: "ours has three private /19, moto the default VPC's public /20",
  },
  {
    where: /(BlockDeviceMappings\[0\]\.DeviceName|RootDeviceName): /,
    why: "ours publishes EKS images with /dev/xvda; moto gives every copy of an image /dev/sda1",
  },
  {
    where: /Images\[0\]\.(Description|PlatformDetails): /,
    why: "moto's copy keeps its source's description and leaves the platform out, which EC2 always names",
  },
  {
    where: /^profiles below a path without any: \[0\]: ours absent/,
    why: "moto lists profiles of every path, whatever PathPrefix says; the provider looks at the path itself too",
  },
  // Fields that the simulated AWS leaves out, because the provider reads none of them.
  {
    where: /EbsOptimizedInfo\.(BaselineBandwidthInMbps|BaselineIops|MaximumIops): ours absent/,
    why: "not in the embedded catalogue; the label for EBS bandwidth is made of the maximum alone",
  },
  {
    where: /EbsInfo\.NvmeSupport: ours absent/,
    why: "not in the embedded catalogue; only an instance store's NVMe support is read",
  },
  {
    where: /NetworkPerformance: ours absent/,
    why: "EC2's words for a bandwidth; the label comes from the embedded table, as upstream's does",
  },
  {
    where: /VCpuInfo\.ValidCores\[\d+\]: /,
    why: "the embedded catalogue does not know which core counts a type accepts; the simulation accepts all",
  },
  {
    where: /NitroEnclavesSupport: ours "unsupported", moto "supported"/,
    why: "the embedded catalogue knows enclave support of a few types only (upstream-aws 9)",
  },
  {
    where: /Images\[0\]\.BlockDeviceMappings: ours absent/,
    why: "launches bring their own devices; the simulation keeps the image's to itself",
  },
  {
    where: /the fleet's instance: (Hypervisor|MetadataOptions|Placement\.GroupName): ours absent/,
    why: "nobody reads them from an instance",
  },
  {
    where: /the fleet's instance: BlockDeviceMappings\[0\]\.Ebs\.Status: ours absent/,
    why: "volumes are attached as long as the instance is there",
  },
  {
    where: /the fleet's instance: NetworkInterfaces\[0\]\.\w+: ours absent/,
    why: "the instance tells its address, host name, network and groups itself",
  },
  {
    where: /the profile: InstanceProfile\.Roles\[0\]\.Tags: ours absent/,
    why: "roles have none here",
  },
  // Where moto differs from EC2.
  {
    where: /a spot price: \[0\]\.ProductDescription: /,
    why: "the filter asked for Linux/UNIX: moto answers another product",
  },
  {
    where: /LaunchTemplateSpecification\.LaunchTemplateName: ours absent/,
    why: "EC2's fleets name the template by id and version",
  },
  {
    where: /the fleet's instance: SecurityGroups\[0\]: /,
    why: "moto does not read groups from a template's network interfaces",
  },
  {
    where: /the fleet's instance: State\.(Code|Name): /,
    why: "moto's instances run at once; EC2's are pending for some seconds",
  },
  {
    where:
      /(the tags after it|the fleet's instance): (Tags)?\[\d\].*(aws:ec2|"1", moto "n"|"Name")/,
    why: "EC2 marks a fleet's instances with fleet and launch template; moto does not",
  },
  {
    where: /an id that is none: answer: ours "refused InvalidInstanceID\.Malformed/,
    why: "EC2 tells a malformed id from an unknown one",
  },
  {
    where: /tagging what is not there: answer: ours "refused InvalidInstanceID\.NotFound/,
    why: "moto tags ids that it does not know",
  },
  {
    where: /deleting the launch template: LaunchTemplate\.(CreateTime|LatestVersionNumber|Tags): /,
    why: "moto answers a part of the template",
  },
  {
    where: /deleting it twice: answer: ours "refused InvalidLaunchTemplateName\.NotFoundException/,
    why: "moto takes the name of a deleted template for a missing parameter",
  },
  {
    where: /the cluster: has\[[01]\]: /,
    why: "moto leaves the IP family of a cluster out",
  },
  {
    where: /deleting by no receipt: Failed\[0\]\.Message: /,
    why: "the same refusal in other words",
  },
];
