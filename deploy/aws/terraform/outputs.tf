output "node_role_name" {
  description = "spec.role of an EC2NodeClass"
  value       = aws_iam_role.node.name
}

output "interruption_queue" {
  description = "settings.interruptionQueue of the chart"
  value       = aws_sqs_queue.interruption.name
}

output "controller_policy_arns" {
  description = "To attach to the controller's role"
  value       = { for name, policy in aws_iam_policy.controller : name => policy.arn }
}
