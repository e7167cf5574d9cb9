variable "cluster_name" {
  description = "Name of the EKS cluster, also of the interruption queue"
  type        = string
}

variable "controller_role_name" {
  description = "Role of the controller's service account; the policies are attached to it. Empty: attach them yourself"
  type        = string
  default     = ""
}

variable "former_generations" {
  description = "Whether Provisioners and v1beta1 NodePools may launch too; their instances carry other tags"
  type        = bool
  default     = true
}
