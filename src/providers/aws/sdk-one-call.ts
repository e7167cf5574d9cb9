/**
 * Helpers for clients of services of which only one call is used: schemas of shapes, the endpoint and its signature.
 * They have the form of the SDK's own packages.
 */

export type ShapeSchema = readonly unknown[];

/** The SDK's numbers for shapes. */
export const SHAPE = { text: 0, whole: 1, list: 1, structure: 3, time: 4, operation: 9 } as const;

/** The schema of an object, by the names of its members. */
export function structure(
  namespace: string,
  name: string,
  members: Readonly<Record<string, unknown>>,
): ShapeSchema {
  return [SHAPE.structure, namespace, name, 0, Object.keys(members), Object.values(members)];
}

/** The schema of a list. */
export function listOf(namespace: string, name: string, member: ShapeSchema): ShapeSchema {
  return [SHAPE.list, namespace, name, 0, () => member];
}

interface Where {
  readonly Region?: string | undefined;
  readonly Endpoint?: string | undefined;
}

/**
 * Settings of a client for the service `name`: requests go to the given endpoint, or to that of the service in the
 * region, and are signed (SigV4) for this name.
 */
export function servedAs(name: string) {
  return {
    endpointProvider: ({ Region = "", Endpoint }: Where) => ({
      url: new URL(Endpoint ?? `https://${name}.${Region}.${suffixOf(Region)}`),
    }),
    httpAuthSchemeProvider: ({ region = "" }: { readonly region?: string | undefined }) => [
      {
        schemeId: "aws.auth#sigv4",
        signingProperties: { name, region },
        propertiesExtractor: (client: unknown, context: unknown) => ({
          signingProperties: { config: client, context },
        }),
      },
    ],
  };
}

function suffixOf(region: string): string {
  return region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

/** Middleware of a command: sends it to the endpoint of its client. */
export const CLIENT_ENDPOINT = {
  Endpoint: { type: "builtInParams", name: "endpoint" },
  Region: { type: "builtInParams", name: "region" },
} as const;
