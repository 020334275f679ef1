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
