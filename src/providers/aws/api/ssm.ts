/** The calls of SSM: parameters, by which images are found. */

/** The parameter's path, such as `/aws/service/eks/optimized-ami/…`. */
export interface GetParameterInput {
  readonly Name: string;
}

/** For an image parameter the value is the image's id. */
export interface GetParameterOutput {
  readonly Parameter: { readonly Name: string; readonly Value: string; readonly Version?: number };
}

/** The SSM calls that are used. */
export interface SsmApi {
  /** Unknown names reject with `ParameterNotFound`. */
  getParameter(input: GetParameterInput): Promise<GetParameterOutput>;
}
