# What Karpenter needs in an AWS account, for one cluster: the same policies and rules as cloudformation.yaml,
# read from the files beside it.

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

data "aws_partition" "current" {}
data "aws_region" "current" {}
data "aws_caller_identity" "current" {}

locals {
  placeholders = {
    ClusterName = var.cluster_name
    Partition   = data.aws_partition.current.partition
    # Not `name`: version 6 of the provider warns of it, and its `region` is not in version 5.
    Region    = data.aws_region.current.id
    AccountId = data.aws_caller_identity.current.account_id
  }

  controller_policies = merge(
    {
      NodeLifecycle     = "node-lifecycle"
      IAMIntegration    = "iam-integration"
      EKSIntegration    = "eks-integration"
      Interruption      = "interruption"
      ZonalShift        = "zonal-shift"
      ServiceQuotas     = "service-quotas"
      ResourceDiscovery = "resource-discovery"
    },
    var.former_generations ? { FormerGenerations = "former-generations" } : {},
  )

  node_policies = toset([
    "AmazonEKS_CNI_Policy",
    "AmazonEKSWorkerNodePolicy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
  ])

  event_rules = { for rule in jsondecode(file("${path.module}/../event-rules.json")) : rule.name => rule }
}

resource "aws_iam_role" "node" {
  name = "KarpenterNodeRole-${var.cluster_name}"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ec2.${data.aws_partition.current.dns_suffix}" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each   = local.node_policies
  role       = aws_iam_role.node.name
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/${each.value}"
}

resource "aws_iam_policy" "controller" {
  for_each = local.controller_policies
  name     = "KarpenterController${each.key}Policy-${var.cluster_name}"
  policy   = templatefile("${path.module}/../policies/${each.value}.json", local.placeholders)
}

resource "aws_iam_role_policy_attachment" "controller" {
  for_each   = var.controller_role_name == "" ? {} : aws_iam_policy.controller
  role       = var.controller_role_name
  policy_arn = each.value.arn
}

resource "aws_sqs_queue" "interruption" {
  name                      = var.cluster_name
  message_retention_seconds = 300
  sqs_managed_sse_enabled   = true
}

resource "aws_sqs_queue_policy" "interruption" {
  queue_url = aws_sqs_queue.interruption.url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "AllowEvents"
        Effect    = "Allow"
        Principal = { Service = ["events.amazonaws.com", "sqs.amazonaws.com"] }
        Action    = "sqs:SendMessage"
        Resource  = aws_sqs_queue.interruption.arn
      },
      {
        Sid       = "DenyPlainHTTP"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sqs:*"
        Resource  = aws_sqs_queue.interruption.arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
    ]
  })
}

resource "aws_cloudwatch_event_rule" "interruption" {
  for_each = local.event_rules
  name     = "${var.cluster_name}-${each.key}"
  event_pattern = jsonencode({
    source      = [each.value.source]
    detail-type = [each.value.detailType]
  })
}

resource "aws_cloudwatch_event_target" "interruption" {
  for_each  = aws_cloudwatch_event_rule.interruption
  rule      = each.value.name
  target_id = "KarpenterInterruptionQueueTarget"
  arn       = aws_sqs_queue.interruption.arn
}
