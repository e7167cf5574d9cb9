import { describe, expect, it } from "vitest";
import { parseInstanceTypes } from "./instance-type-file.ts";

describe("the file of --instance-types", () => {
  it.each(["hasOwnProperty", "toString", "constructor"])(
    "may have a label with the name of an inherited property: %s",
    (key) => {
      const offering = { zone: "a", capacityType: "on-demand", priceMicroUsdPerHour: 1_000 };
      const type = {
        name: "small",
        labels: { [key]: "yes" },
        capacity: { cpu: "4", memory: "8Gi", pods: "10" },
        offerings: [offering],
      };
      const { instanceTypes } = parseInstanceTypes("types.json", JSON.stringify([type]));
      expect(instanceTypes[0]?.labels[key]).toEqual(["yes"]);
    },
  );
});
