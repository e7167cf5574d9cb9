/** The user data of a launch, in the form its AMI family reads. */
import type { AmiFamily } from "../../../apis/hub/aws-class.ts";
import { al2UserData } from "./al2.ts";
import { al2023UserData } from "./al2023.ts";
import type { Bootstrap } from "./bootstrap.ts";
import { bottlerocketUserData } from "./bottlerocket.ts";
import { windowsUserData } from "./windows.ts";

/** The user data before base64. Throws if the class's own user data cannot be merged. */
export function userData(family: AmiFamily, bootstrap: Bootstrap): string {
  switch (family) {
    case "AL2":
      return al2UserData(bootstrap, bootstrap.generation === "alpha");
    case "Ubuntu":
      return al2UserData(bootstrap, false);
    case "AL2023":
      return al2023UserData(bootstrap);
    case "Bottlerocket":
      return bottlerocketUserData(bootstrap);
    case "Windows2019":
    case "Windows2022":
    case "Windows2025":
      return windowsUserData(bootstrap);
    case "Custom":
      return bootstrap.custom ?? "";
  }
}
