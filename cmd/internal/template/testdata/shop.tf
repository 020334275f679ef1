# Printed by `tablewake template -o terraform` from config/tablewake.yaml: print it again when the file
# changes. It is the policy and the event source mapping of a function of yours, whose
# code is a release's bootstrap (provided.al2023) with tablewake.yaml beside it.

variable "function_name" { type = string }
variable "role_name" { type = string }
variable "failed_batches_bucket_arn" { type = string }

variable "stream_arn" {
  type        = string
  description = "ARN of the stream of table shop."
}

# A limit of tries or of age is one for healthy records too: in an outage of a sink Lambda
# would discard them, batch by batch. -1 is none.
variable "maximum_retry_attempts" {
  type    = number
  default = -1
}

variable "maximum_record_age_in_seconds" {
  type    = number
  default = -1
}

data "aws_partition" "current" {}
data "aws_region" "current" {}
data "aws_caller_identity" "current" {}

resource "aws_lambda_event_source_mapping" "changes" {
  function_name                      = var.function_name
  event_source_arn                   = var.stream_arn
  starting_position                  = "TRIM_HORIZON"
  batch_size                         = 500
  maximum_batching_window_in_seconds = 0
  parallelization_factor             = 2
  function_response_types            = ["ReportBatchItemFailures"] # only what is not finished comes again
  bisect_batch_on_function_error     = true                        # for crashes
  maximum_retry_attempts             = var.maximum_retry_attempts
  maximum_record_age_in_seconds      = var.maximum_record_age_in_seconds

  destination_config {
    on_failure {
      destination_arn = var.failed_batches_bucket_arn
    }
  }

  # what the sinks take: not pushed down
  #   user_by_email needs every change: a view whose rows are guarded by item compares an item with the row that it has, not with the old image
}

resource "aws_iam_role_policy" "pipeline" {
  name   = "pipeline"
  role   = var.role_name
  policy = data.aws_iam_policy_document.pipeline.json
}

data "aws_iam_policy_document" "pipeline" {
  # the event source mapping reads the stream with this role
  statement {
    sid       = "SourceStream"
    actions   = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/shop/stream/*"]
  }
  # streams are found by ListStreams, which takes no resource
  statement {
    sid       = "SourceStreams"
    actions   = ["dynamodb:ListStreams"]
    resources = ["*"]
  }
  # rows, each with its own guard
  statement {
    sid       = "ViewOrdersByStatus"
    actions   = ["dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows that are guarded by item, or may be
  statement {
    sid       = "ViewUserByEmail"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows of groups
  statement {
    sid       = "AggregateRevenuePerDay"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows of groups
  statement {
    sid       = "AggregateUnitsSold"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # documents, and the index behind its alias
  statement {
    sid       = "SearchProducts"
    actions   = ["es:ESHttpGet", "es:ESHttpPost", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/products,products.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/products.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/products.tw1/*", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/products/*"]
  }
  # the record of the sink's settings and birth
  statement {
    sid       = "SearchProductsRecord"
    actions   = ["es:ESHttpGet", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/tablewake", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/tablewake/_doc/shop,products"]
  }
  # the script that compares versions, which all sinks share
  statement {
    sid       = "SearchProductsScript"
    actions   = ["es:ESHttpGet", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/_scripts/tablewake-*"]
  }
  # objects, and the record of the settings beside them
  statement {
    sid       = "ArchiveDeleted"
    actions   = ["s3:GetObject", "s3:PutObject"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::shop-archive/archive/*"]
  }
  # an object that is missing is told from one that is forbidden
  statement {
    sid       = "ArchiveDeletedMissing"
    actions   = ["s3:ListBucket"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::shop-archive"]
  }
  # objects, and the record of the settings beside them
  statement {
    sid       = "ArchiveHistory"
    actions   = ["s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::shop-archive/changes/*"]
  }
  # an object that is missing is told from one that is forbidden
  statement {
    sid       = "ArchiveHistoryMissing"
    actions   = ["s3:ListBucket"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::shop-archive"]
  }
  # events to the queue
  statement {
    sid       = "NotifyOnCompleted"
    actions   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"]
    resources = ["arn:${data.aws_partition.current.partition}:sqs:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:shop-completed"]
  }
  # events that are too large for a message lie in the bucket
  statement {
    sid       = "NotifyOnCompletedLarge"
    actions   = ["s3:PutObject"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::shop-archive/archive/.~fingerprints/*"]
  }
  # what sinks remember of items, and the record of their settings: the rows of this pipeline
  statement {
    sid       = "State"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/tablewake-state"]
    condition {
      test     = "ForAllValues:StringLike"
      variable = "dynamodb:LeadingKeys"
      values   = ["shop#*"]
    }
    condition {
      test     = "Null"
      variable = "dynamodb:LeadingKeys"
      values   = ["false"]
    }
  }
  # the table is looked for at the start
  statement {
    sid       = "StateTable"
    actions   = ["dynamodb:DescribeTable"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/tablewake-state"]
  }
  # what cannot be delivered
  statement {
    sid       = "DeadLetters"
    actions   = ["s3:PutObject"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::shop-dead/shop/*"]
  }
  # the bucket is looked for at the start, and letters are listed
  statement {
    sid       = "DeadLettersBucket"
    actions   = ["s3:ListBucket"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::shop-dead"]
  }

  # Lambda writes what it gives up with the function's role.
  statement {
    sid       = "FailedBatches"
    actions   = ["s3:PutObject"]
    resources = ["${var.failed_batches_bucket_arn}/*"]
  }
  statement {
    sid       = "FailedBatchesBucket"
    actions   = ["s3:ListBucket"]
    resources = [var.failed_batches_bucket_arn]
  }

  # The environment's ssm:NAME.
  statement {
    sid       = "Secrets"
    actions   = ["ssm:GetParameter"]
    resources = ["arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:parameter/tablewake/shop/TABLEWAKE_HMAC_KEY"]
  }
}

# The audit: a second function with the same code and configuration, the variable TABLEWAKE_COMMAND=audit, a timeout of
# 900 s, a reserved concurrency of 1 and a role of its own. It compares a sample of the table with the sinks, and only reads.
# Without audit_function_name there is none.
variable "audit_function_name" {
  type    = string
  default = null
}

variable "audit_role_name" {
  type    = string
  default = null
}

variable "audit_schedule" {
  type    = string
  default = "rate(1 day)"
}

variable "audit_event" {
  type    = string
  default = "{\"tablewake\":\"audit\",\"sample\":1,\"segments\":100,\"rcu\":500,\"lag\":\"2m\",\"sinks\":[\"orders_by_status\",\"user_by_email\",\"products\"]}"
}

variable "alarm_actions" {
  type    = list(string)
  default = []
}

resource "aws_cloudwatch_event_rule" "audit" {
  count               = var.audit_function_name == null ? 0 : 1
  description         = "Audits a sample of the table."
  schedule_expression = var.audit_schedule
}

resource "aws_cloudwatch_event_target" "audit" {
  count = var.audit_function_name == null ? 0 : 1
  rule  = aws_cloudwatch_event_rule.audit[0].name
  arn   = "arn:${data.aws_partition.current.partition}:lambda:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:function:${var.audit_function_name}"
  input = var.audit_event

  retry_policy {
    maximum_event_age_in_seconds = 3600
    maximum_retry_attempts       = 1
  }
}

resource "aws_lambda_permission" "audit" {
  count         = var.audit_function_name == null ? 0 : 1
  action        = "lambda:InvokeFunction"
  function_name = var.audit_function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.audit[0].arn
}

resource "aws_lambda_function_event_invoke_config" "audit" {
  count                  = var.audit_function_name == null ? 0 : 1
  function_name          = var.audit_function_name
  maximum_retry_attempts = 0
}

resource "aws_cloudwatch_metric_alarm" "sinks_differ" {
  count               = var.audit_function_name == null ? 0 : 1
  alarm_name          = "tablewake-shop-sinks_differ"
  alarm_description   = "A sample of the table differs from the sinks. The log of Audit lists the entries; `tablewake audit --live` compares everything, and repairs it with --repair."
  namespace           = "tablewake"
  metric_name         = "tablewake.audit.differences"
  dimensions          = { pipeline = "shop" }
  statistic           = "Sum"
  period              = 300
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  evaluation_periods  = 1
  alarm_actions       = var.alarm_actions
}

resource "aws_cloudwatch_metric_alarm" "not_audited" {
  count               = var.audit_function_name == null ? 0 : 1
  alarm_name          = "tablewake-shop-not_audited"
  alarm_description   = "No audit was complete for two days. The log of Audit says why: it failed, its time was over, or entries could not be compared. Choose a smaller sample or more read units."
  namespace           = "tablewake"
  metric_name         = "tablewake.audit.complete"
  dimensions          = { pipeline = "shop" }
  statistic           = "Maximum"
  period              = 86400
  threshold           = 1
  comparison_operator = "LessThanThreshold"
  treat_missing_data  = "breaching"
  evaluation_periods  = 2
  alarm_actions       = var.alarm_actions
}

resource "aws_iam_role_policy" "audit" {
  count  = var.audit_role_name == null ? 0 : 1
  name   = "pipeline"
  role   = var.audit_role_name
  policy = data.aws_iam_policy_document.audit.json
}

data "aws_iam_policy_document" "audit" {
  # items are read, all of them and one by one
  statement {
    sid       = "SourceTable"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/shop"]
  }
  # rows are read
  statement {
    sid       = "ViewOrdersByStatus"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows are read
  statement {
    sid       = "ViewUserByEmail"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows of groups are read
  statement {
    sid       = "AggregateRevenuePerDay"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows of groups are read
  statement {
    sid       = "AggregateUnitsSold"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # documents are read
  statement {
    sid       = "SearchProducts"
    actions   = ["es:ESHttpGet", "es:ESHttpPost"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/products,products.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/products.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/products.tw1/*", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/products/*"]
  }
  # documents are listed page by page: the path of a page names no index
  statement {
    sid       = "SearchProductsScroll"
    actions   = ["es:ESHttpDelete", "es:ESHttpPost"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/_search/scroll"]
  }
  # the record of the sink's settings and birth
  statement {
    sid       = "SearchProductsRecord"
    actions   = ["es:ESHttpGet"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/tablewake", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:domain/DOMAIN/tablewake/_doc/shop,products"]
  }
  # dead letters explain differences; they are read, and stay
  statement {
    sid       = "DeadLetters"
    actions   = ["s3:GetObject"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::shop-dead/shop/*"]
  }
  # the bucket is looked for at the start, and letters are listed
  statement {
    sid       = "DeadLettersBucket"
    actions   = ["s3:ListBucket"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::shop-dead"]
  }
  # what sinks remember of items: the rows of this pipeline
  statement {
    sid       = "State"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:Query"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/tablewake-state"]
    condition {
      test     = "ForAllValues:StringLike"
      variable = "dynamodb:LeadingKeys"
      values   = ["shop#*"]
    }
    condition {
      test     = "Null"
      variable = "dynamodb:LeadingKeys"
      values   = ["false"]
    }
  }
  # the table is looked for at the start
  statement {
    sid       = "StateTable"
    actions   = ["dynamodb:DescribeTable"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/tablewake-state"]
  }
  # what sinks remember is listed: no condition on keys limits a Scan, which reads the rows of all pipelines
  statement {
    sid       = "StateScan"
    actions   = ["dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/tablewake-state"]
  }

  # The environment's ssm:NAME.
  statement {
    sid       = "Secrets"
    actions   = ["ssm:GetParameter"]
    resources = ["arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:parameter/tablewake/shop/TABLEWAKE_HMAC_KEY"]
  }
}
