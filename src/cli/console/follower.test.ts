import { describe, expect, it } from "vitest";
import { POD } from "../../apis/core/pod.ts";
import { type Kind, type KubeObject, keyOf } from "../../apis/meta.ts";
import { atOnce } from "../../base/steps.ts";
import { Informer } from "../../kube/mirror/informer.ts";
import { Follower } from "./follower.ts";

const LABELS = Object.freeze({ app: "web" });

function pod(name: string, version: number, more: { uid?: string; node?: string } = {}) {
  const { uid = name, node } = more;
  const metadata = { name, namespace: "a", uid, labels: LABELS };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, resourceVersion: String(version) },
    spec: node === undefined ? {} : { nodeName: node },
  } as KubeObject;
}

function followed(...items: KubeObject[]) {
  const mirror = new Informer(POD as unknown as Kind<KubeObject>, {});
  mirror.replace({ items, resourceVersion: "10" });
  const told: string[] = [];
  const tell = (what: string) => (object: KubeObject) => {
    told.push(`${what} ${keyOf(object)} ${object.metadata.uid}@${object.metadata.resourceVersion}`);
  };
  const follower = new Follower(mirror, {
    kind: mirror.kind,
    put: tell("put"),
    remove: tell("remove"),
  });
  atOnce(follower.begin());
  return { mirror, follower, told: () => told.splice(0) };
}

describe("a follower of a mirror of pods", () => {
  it("feeds all objects at the beginning", () => {
    const { told } = followed(pod("x", 1), pod("y", 2));
    expect(told()).toEqual(["put a/x x@1", "put a/y y@2"]);
  });

  it("feeds a pod that changed several times only once, in its last state", () => {
    const { mirror, follower, told } = followed(pod("x", 1));
    told();
    mirror.take({ type: "MODIFIED", object: pod("x", 11, { node: "n1" }) });
    mirror.take({ type: "MODIFIED", object: pod("x", 12, { node: "n2" }) });
    expect(told()).toEqual([]);
    atOnce(follower.catchUp());
    atOnce(follower.catchUp());
    expect(told()).toEqual(["put a/x x@12"]);
  });

  it("feeds nothing about a pod that was created and deleted meanwhile, or that only got a new version", () => {
    const { mirror, follower, told } = followed(pod("x", 1));
    told();
    mirror.take({ type: "MODIFIED", object: pod("x", 11) });
    mirror.take({ type: "ADDED", object: pod("y", 12) });
    mirror.take({ type: "DELETED", object: pod("y", 13) });
    atOnce(follower.catchUp());
    expect(told()).toEqual([]);
  });

  it("removes a deleted pod before it adds another pod of the same name", () => {
    const { mirror, follower, told } = followed(pod("x", 1));
    told();
    mirror.take({ type: "DELETED", object: pod("x", 11) });
    mirror.take({ type: "ADDED", object: pod("x", 12, { uid: "other" }) });
    atOnce(follower.catchUp());
    mirror.take({ type: "DELETED", object: pod("x", 13, { uid: "other" }) });
    atOnce(follower.catchUp());
    expect(told()).toEqual(["remove a/x x@1", "put a/x other@12", "remove a/x other@12"]);
  });

  it("feeds changes that arrive while it catches up", () => {
    const { mirror, follower, told } = followed(pod("x", 1), pod("y", 2));
    told();
    mirror.take({ type: "MODIFIED", object: pod("x", 11, { node: "n1" }) });
    const steps = follower.catchUp();
    // The follower gets this state of the pod. The change after that restores the earlier state.
    mirror.take({ type: "MODIFIED", object: pod("x", 12, { node: "n2" }) });
    atOnce(steps);
    mirror.take({ type: "MODIFIED", object: pod("x", 13, { node: "n1" }) });
    atOnce(follower.catchUp());
    expect(told()).toEqual(["put a/x x@12", "put a/x x@13"]);
  });
});
