/** EC2: instances, their status, their termination. */
import type { Filter, Page, Paged, Tag } from "./call.ts";
import type { TagSpecification } from "./launches.ts";

/** `shutting-down` is followed by `terminated` only, and `terminated` is the last state. */
export type InstanceStateName =
  | "pending"
  | "running"
  | "shutting-down"
  | "terminated"
  | "stopping"
  | "stopped";

/** An instance, as DescribeInstances shows it. A terminated one is shown for about an hour. */
export interface Instance {
  readonly InstanceId: string;
  readonly InstanceType: string;
  readonly ImageId: string;
  readonly State: { readonly Name: InstanceStateName };
  readonly LaunchTime: string;
  readonly Placement: {
    readonly AvailabilityZone: string;
    readonly Tenancy?: string;
    readonly GroupId?: string;
    readonly PartitionNumber?: number;
  };
  /** The capacity reservation that the instance runs in. */
  readonly CapacityReservationId?: string;
  readonly SubnetId?: string;
  readonly VpcId?: string;
  readonly PrivateDnsName?: string;
  readonly PrivateIpAddress?: string;
  readonly SecurityGroups: readonly { readonly GroupId: string; readonly GroupName?: string }[];
  readonly IamInstanceProfile?: { readonly Arn: string; readonly Id?: string };
  /**
   * How the instance was bought: `spot`, `capacity-block` or `interruptible-capacity-reservation`. Absent for
   * on-demand.
   */
  readonly InstanceLifecycle?: string;
  readonly SpotInstanceRequestId?: string;
  readonly Architecture?: string;
  readonly Monitoring?: { readonly State: string };
  readonly BlockDeviceMappings?: readonly {
    readonly DeviceName: string;
    readonly Ebs?: { readonly VolumeId: string; readonly DeleteOnTermination?: boolean };
  }[];
  readonly NetworkInterfaces?: readonly {
    readonly NetworkInterfaceId: string;
    readonly InterfaceType?: string;
    readonly SubnetId?: string;
  }[];
  readonly Tags: readonly Tag[];
}

/** Which instances to describe: by ids, or by filters with pages. */
export interface DescribeInstancesInput extends Paged {
  /**
   * Ids of instances. An unknown id rejects with `InvalidInstanceID.NotFound`. Ids cannot be combined with
   * `MaxResults`.
   */
  readonly InstanceIds?: readonly string[];
  readonly Filters?: readonly Filter[];
}

/** A page of instances, grouped by the call that launched them. */
export interface DescribeInstancesOutput extends Page {
  readonly Reservations: readonly {
    /** The account that owns the instances. */
    readonly OwnerId?: string;
    readonly Instances: readonly Instance[];
  }[];
}

/** Input of RunInstances, which is called only with `DryRun`. */
export interface RunInstancesInput {
  readonly MinCount: number;
  readonly MaxCount: number;
  readonly InstanceType: string;
  readonly ImageId: string;
  readonly SubnetId: string;
  readonly SecurityGroupIds?: readonly string[];
  readonly IamInstanceProfile?: { readonly Name: string };
  readonly TagSpecifications?: readonly TagSpecification[];
  readonly DryRun: true;
}

/** Result of one status check. */
export interface StatusDetail {
  /** The name of the check: `reachability`. */
  readonly Name?: string;
  /** The result of the check: `passed`, `failed`, `insufficient-data` or `initializing`. */
  readonly Status?: string;
  readonly ImpairedSince?: string;
}

/** Status checks of the instance and of the system below it, and scheduled events. */
export interface InstanceStatus {
  readonly InstanceId: string;
  readonly InstanceStatus?: {
    readonly Status?: string;
    readonly Details?: readonly StatusDetail[];
  };
  readonly SystemStatus?: { readonly Status?: string; readonly Details?: readonly StatusDetail[] };
  readonly Events?: readonly {
    readonly Code?: string;
    readonly Description?: string;
    readonly NotBefore?: string;
  }[];
}

/** Which status checks to describe. By default only those of running instances are shown. */
export interface DescribeInstanceStatusInput extends Paged {
  readonly InstanceIds?: readonly string[];
  readonly Filters?: readonly Filter[];
}

/** A page of status checks. An instance without checks yet has the status `initializing`. */
export interface DescribeInstanceStatusOutput extends Page {
  readonly InstanceStatuses: readonly InstanceStatus[];
}

/** The instances to terminate. An unknown id rejects the whole call. */
export interface TerminateInstancesInput {
  readonly InstanceIds: readonly string[];
}

/** The instances to reboot. An unknown id rejects the whole call. */
export interface RebootInstancesInput {
  readonly InstanceIds: readonly string[];
}

/** States of an instance before and after the call. */
export interface InstanceStateChange {
  readonly InstanceId: string;
  readonly CurrentState: { readonly Name: InstanceStateName };
  readonly PreviousState: { readonly Name: InstanceStateName };
}

/** The instances of the call, including those that were terminated already. */
export interface TerminateInstancesOutput {
  readonly TerminatingInstances: readonly InstanceStateChange[];
}
