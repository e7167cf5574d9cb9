/** `npm run bench -- <what> [options]`: the benches of this folder by name. */
import { cluster } from "./cluster/cluster.ts";
import { aws } from "./aws.ts";
import { consolidation } from "./consolidation.ts";
import { cost } from "./cost.ts";
import { model } from "./model.ts";
import { growth } from "./growth.ts";
