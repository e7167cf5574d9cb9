/** Kinds of storage.k8s.io/v1 that connect volumes with zones and nodes. */
import type { Kind, KubeObject } from "../meta.ts";

/** A StorageClass. With WaitForFirstConsumer a volume is created in the zone of the first pod that uses it. */
export interface StorageClass extends KubeObject {
  readonly provisioner: string;
  readonly volumeBindingMode?: "Immediate" | "WaitForFirstConsumer";
  readonly allowedTopologies?: readonly {
    readonly matchLabelExpressions?: readonly {
      readonly key: string;
      readonly values: readonly string[];
    }[];
  }[];
  readonly parameters?: Readonly<Record<string, string>>;
}

/** A CSINode. `allocatable.count` of a driver is the number of volumes that the node can attach. */
export interface CSINode extends KubeObject {
  readonly spec: {
    readonly drivers: readonly {
      readonly name: string;
      readonly nodeID?: string;
      readonly allocatable?: { readonly count?: number };
    }[];
  };
}

/** A volume that is attached to a node. The node's instance is not terminated before the volume is detached. */
export interface VolumeAttachment extends KubeObject {
  readonly spec: {
    readonly attacher: string;
    readonly nodeName: string;
    readonly source: { readonly persistentVolumeName?: string };
  };
  readonly status?: { readonly attached: boolean };
}

function storage<T extends KubeObject>(kind: string, plural: string): Kind<T> {
  return { group: "storage.k8s.io", version: "v1", kind, plural, namespaced: false };
}

export const STORAGE_CLASS: Kind<StorageClass> = storage("StorageClass", "storageclasses");
export const CSI_NODE: Kind<CSINode> = storage("CSINode", "csinodes");
export const VOLUME_ATTACHMENT: Kind<VolumeAttachment> = storage(
  "VolumeAttachment",
  "volumeattachments",
);
