/** Checks of conversion between the versions of a custom kind: by name alone, by a webhook, and by one that fails. */
import { AS_TABLE, type Check, check, del, get, mergePatch, post, type Step } from "./check.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

function widgets(name: string, conversion: object) {
  const version = (called: string, type: string, storage: boolean) => ({
    name: called,
    served: true,
    storage,
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: {
          spec: { type: "object", properties: { size: { type } } },
        },
      },
    },
    additionalPrinterColumns: [{ name: "Size", type: "string", jsonPath: ".spec.size" }],
  });
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${name}s.check.example.com` },
    spec: {
      group: "check.example.com",
      scope: "Namespaced",
      names: { plural: `${name}s`, singular: name, kind: "Widget", listKind: "WidgetList" },
      versions: [version("v1", "string", false), version("v2", "integer", true)],
      conversion,
    },
  };
}

const byWebhook = (does: string) => ({
  strategy: "Webhook",
  webhook: {
    conversionReviewVersions: ["v1"],
    clientConfig: { url: `<<webhooks.url>>/${does}`, caBundle: "<<webhooks.caBundle>>" },
  },
});

const widgetsOf = (name: string, version: string) =>
  `/apis/check.example.com/${version}/namespaces/<<ns>>/${name}s`;

const widget = (version: string, name: string, size: unknown) => ({
  apiVersion: `check.example.com/${version}`,
  kind: "Widget",
  metadata: { name },
  spec: { size },
});

export const CONVERSION_CHECKS: readonly Check[] = [
  check(
    "CV-01",
    "strategy None: versions differ in name only, what the other has no room for is lost",
    post(CRDS, widgets("nonewidget", { strategy: "None" })),
    get(widgetsOf("nonewidget", "v1"), { until: 200 }),
    get(widgetsOf("nonewidget", "v2"), { until: 200 }),
    post(widgetsOf("nonewidget", "v2"), widget("v2", "a", 5)),
    get(`${widgetsOf("nonewidget", "v1")}/a`),
    get(`${widgetsOf("nonewidget", "v2")}/a`),
    post(widgetsOf("nonewidget", "v1"), widget("v1", "b", "seven")),
    get(`${widgetsOf("nonewidget", "v2")}/b`),
    get(widgetsOf("nonewidget", "v1")),
    post(widgetsOf("nonewidget", "v1"), widget("v2", "c", 1)),
    post(widgetsOf("nonewidget", "v2"), widget("v2", "c", "many")),
    del(`${CRDS}/nonewidgets.check.example.com`),
  ),
  check(
    "CV-02",
    "a conversion webhook between two versions",
    post(CRDS, widgets("hookwidget", byWebhook("convert"))),
    get(widgetsOf("hookwidget", "v1"), { until: 200 }),
    get(widgetsOf("hookwidget", "v2"), { until: 200 }),
    post(widgetsOf("hookwidget", "v1"), widget("v1", "a", "5")),
    get(`${widgetsOf("hookwidget", "v2")}/a`),
    mergePatch(`${widgetsOf("hookwidget", "v1")}/a`, { spec: { size: "6" } }),
    post(widgetsOf("hookwidget", "v2"), widget("v2", "b", 7), { as: "b" }),
    get(widgetsOf("hookwidget", "v1")),
    get(widgetsOf("hookwidget", "v1"), { headers: AS_TABLE }),
    get(`${widgetsOf("hookwidget", "v1")}?watch=true&timeoutSeconds=5`, { frames: 2 }),
    del(`${widgetsOf("hookwidget", "v1")}/a`),
    del(`${CRDS}/hookwidgets.check.example.com`),
  ),
  check(
    "CV-03",
    "conversions that fail",
    ...["fail", "none", "other-version", "garbage", "error"].flatMap((does): Step[] => [
      post(CRDS, widgets(`${does.replaceAll("-", "")}widget`, byWebhook(does))),
      get(widgetsOf(`${does.replaceAll("-", "")}widget`, "v2"), { until: 200 }),
      post(widgetsOf(`${does.replaceAll("-", "")}widget`, "v2"), widget("v2", "a", 1)),
      get(`${widgetsOf(`${does.replaceAll("-", "")}widget`, "v1")}/a`),
      get(widgetsOf(`${does.replaceAll("-", "")}widget`, "v1")),
      post(widgetsOf(`${does.replaceAll("-", "")}widget`, "v1"), widget("v1", "b", "1")),
      del(`${CRDS}/${does.replaceAll("-", "")}widgets.check.example.com`),
    ]),
  ),
];
