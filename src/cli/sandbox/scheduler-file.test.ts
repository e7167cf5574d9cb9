import { describe, expect, it } from "vitest";
import { DEFAULT_PROFILES } from "../../sandbox/kube-scheduler/profiles.ts";
import { profilesIn, readSchedulerProfiles } from "./scheduler-file.ts";

const TEXT = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
  - schedulerName: spreading
`;

describe("the file of --kube-scheduler-config", () => {
  it("gives the profiles, and the default one when there is no file", () => {
    const names = profilesIn("s.yaml", TEXT).map(({ schedulerName }) => schedulerName);
    expect(names).toEqual(["default-scheduler", "spreading"]);
    expect(readSchedulerProfiles(undefined)).toBe(DEFAULT_PROFILES);
  });

  it("is refused with its name, and with the field", () => {
    expect(() => profilesIn("s.yaml", `${TEXT}  - schedulerName: spreading`)).toThrow(
      "s.yaml: profiles[2].schedulerName: spreading is there already",
    );
    expect(() => profilesIn("s.yaml", `${TEXT}---\n${TEXT}`)).toThrow("more than one document");
    expect(() => readSchedulerProfiles("/nowhere/s.yaml")).toThrow(
      "--kube-scheduler-config: cannot read /nowhere/s.yaml",
    );
  });
});
