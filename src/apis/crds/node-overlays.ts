/** The CRD of NodeOverlay (v1alpha1). The controller acts on overlays if the feature gate NodeOverlay is on. */
import { NODE_OVERLAY } from "../karpenter/nodeoverlay.ts";
import {
  AGE_COLUMN,
  type CustomResourceDefinition,
  definition,
  READY_COLUMN,
} from "./definition.ts";
import {
  conditions,
  integer,
  type JsonSchema,
  kindSchema,
  LABEL_VALUE,
  list,
  object,
  QUALIFIED_NAME,
  quantityMap,
  rules,
  text,
} from "./schema.ts";

/** The CRD of NodeOverlay, in v1alpha1. upstream: pkg/apis/crds/karpenter.sh_nodeoverlays.yaml. */
export function nodeOverlayDefinition(): CustomResourceDefinition {
  return definition(
    NODE_OVERLAY,
    [
      {
        name: "v1alpha1",
        storage: true,
        schema: kindSchema("Prices and resources laid over instance types.", spec(), status(), [
          "spec",
        ]),
        columns: [
          READY_COLUMN,
          AGE_COLUMN,
          { name: "Weight", type: "integer", jsonPath: ".spec.weight", priority: 1 },
        ],
      },
    ],
    { shortNames: ["overlays"] },
  );
}

function spec(): JsonSchema {
  const requirement = object(
    "One constraint on one label.",
    {
      key: text("Label key.", { maxLength: 316, pattern: QUALIFIED_NAME }),
      operator: text("How the label relates to the values.", {
        enum: ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"],
      }),
      values: list(
        "Values of In and NotIn, or the one bound of a comparison.",
        { type: "string", maxLength: 63, pattern: LABEL_VALUE },
        { "x-kubernetes-list-type": "atomic" },
      ),
    },
    { required: ["key", "operator"] },
  );
  return object(
    "What is laid over what.",
    {
      requirements: list("Which instance types and offerings are meant.", requirement, {
        maxItems: 100,
        ...rules(
          [
            "self.all(x, x.operator != 'NotIn' || (has(x.values) && x.values.size() > 0))",
            "requirements with operator 'NotIn' must have a value defined",
          ],
          [
            "self.all(x, x.operator != 'In' || (has(x.values) && x.values.size() > 0))",
            "requirements with operator 'In' must have a value defined",
          ],
          [
            "self.all(x, !(x.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(x.values) && x.values.size() == 1 && x.values[0].matches('^[0-9]+$')))",
            "requirements operator 'Gt', 'Lt', 'Gte' or 'Lte' must have a single positive integer value",
          ],
        ),
      }),
      priceAdjustment: text("Signed dollars an hour, or a signed share of the price.", {
        pattern: "^[+-]\\d+(\\.\\d+)?%?$",
      }),
      price: text("Dollars an hour.", { pattern: "^\\d+(\\.\\d+)?$" }),
      capacity: quantityMap(
        "Extended resources that machines have besides.",
        rules([
          "self.all(x, !(x in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",
          "invalid resource restricted",
        ]),
      ),
      weight: integer("The heaviest overlay wins.", {
        format: "int32",
        minimum: 1,
        maximum: 10_000,
      }),
    },
    {
      required: ["requirements"],
      ...rules([
        "!has(self.price) || !has(self.priceAdjustment)",
        "cannot set both 'price' and 'priceAdjustment'",
      ]),
    },
  );
}

function status(): JsonSchema {
  return object("What is.", { conditions: conditions("strict") });
}
