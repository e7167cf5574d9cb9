/** The calls of SSM: parameters, by which images are found. */

export interface GetParameterInput {
  readonly Name: string;
}

export interface GetParameterOutput {
  readonly Parameter: { readonly Name: string; readonly Value: string; readonly Version?: number };
}

export interface SsmApi {
  /** Unknown names reject with `ParameterNotFound`. */
  getParameter(input: GetParameterInput): Promise<GetParameterOutput>;
}
