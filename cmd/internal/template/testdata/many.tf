# Printed by `tablewake template -o terraform` from config/tablewake.yaml: print it again when the file
# changes. It is the policy and the event source mapping of a function of yours, whose
# code is a release's bootstrap (provided.al2023) with tablewake.yaml beside it.

variable "function_name" { type = string }
variable "role_name" { type = string }
variable "failed_batches_bucket_arn" { type = string }

variable "stream_arn_orders" {
  type        = string
  description = "ARN of the stream of table orders."
}

variable "stream_arn_order_lines" {
  type        = string
  description = "ARN of the stream of table order-lines."
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

resource "aws_lambda_event_source_mapping" "changes_orders" {
  function_name                      = var.function_name
  event_source_arn                   = var.stream_arn_orders
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

  # line 7, filter "keep_op": pushed down; the function drops the same
  # line 8, filter "drop_entity": pushed down; the function drops the same
  # line 9, filter "status": not pushed down
  #   changed, unchanged, no_change, replication_echoes: Lambda cannot compare the old image with the new
  # what the sinks take: not pushed down
  #   filter "status" before it can fail on a record, which then goes to dead letters
  # the pattern of StreamViewType passes the records of a stream without both images, so that the function can refuse it
  # the pattern of eventName passes the records of operations that are not known, which may show no image
  filter_criteria {
    filter {
      pattern = "{\"dynamodb\":{\"NewImage\":{\"Type\":{\"S\":[{\"anything-but\":[\"Draft\",\"Session\"]},{\"exists\":false}]}}},\"eventName\":[\"INSERT\"]}"
    }
    filter {
      pattern = "{\"dynamodb\":{\"OldImage\":{\"Type\":{\"S\":[{\"anything-but\":[\"Draft\",\"Session\"]},{\"exists\":false}]}}},\"eventName\":[\"REMOVE\"]}"
    }
    filter {
      pattern = "{\"dynamodb\":{\"StreamViewType\":[{\"anything-but\":[\"NEW_AND_OLD_IMAGES\"]},{\"exists\":false}]}}"
    }
    filter {
      pattern = "{\"eventName\":[{\"anything-but\":[\"INSERT\",\"MODIFY\",\"REMOVE\"]}]}"
    }
  }
}

resource "aws_lambda_event_source_mapping" "changes_order_lines" {
  function_name                      = var.function_name
  event_source_arn                   = var.stream_arn_order_lines
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

  # line 7, filter "keep_op": pushed down; the function drops the same
  # line 8, filter "drop_entity": pushed down; the function drops the same
  # line 9, filter "status": not pushed down
  #   changed, unchanged, no_change, replication_echoes: Lambda cannot compare the old image with the new
  # what the sinks take: not pushed down
  #   filter "status" before it can fail on a record, which then goes to dead letters
  # the pattern of StreamViewType passes the records of a stream without both images, so that the function can refuse it
  # the pattern of eventName passes the records of operations that are not known, which may show no image
  filter_criteria {
    filter {
      pattern = "{\"dynamodb\":{\"NewImage\":{\"Type\":{\"S\":[{\"anything-but\":[\"Draft\",\"Session\"]},{\"exists\":false}]}}},\"eventName\":[\"INSERT\"]}"
    }
    filter {
      pattern = "{\"dynamodb\":{\"OldImage\":{\"Type\":{\"S\":[{\"anything-but\":[\"Draft\",\"Session\"]},{\"exists\":false}]}}},\"eventName\":[\"REMOVE\"]}"
    }
    filter {
      pattern = "{\"dynamodb\":{\"StreamViewType\":[{\"anything-but\":[\"NEW_AND_OLD_IMAGES\"]},{\"exists\":false}]}}"
    }
    filter {
      pattern = "{\"eventName\":[{\"anything-but\":[\"INSERT\",\"MODIFY\",\"REMOVE\"]}]}"
    }
  }
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
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/order-lines/stream/*", "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:table/orders/stream/*"]
  }
  # streams are found by ListStreams, which takes no resource
  statement {
    sid       = "SourceStreams"
    actions   = ["dynamodb:ListStreams"]
    resources = ["*"]
  }
  # objects, and the record of the settings beside them
  statement {
    sid       = "ArchiveRemoved"
    actions   = ["s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject", "s3:PutObjectTagging"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::archive/removed/*"]
  }
  # an object that is missing is told from one that is forbidden
  statement {
    sid       = "ArchiveRemovedMissing"
    actions   = ["s3:ListBucket"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::archive"]
  }
  # objects are encrypted with the key that the file names
  statement {
    sid       = "ArchiveRemovedKey"
    actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
    resources = ["arn:${data.aws_partition.current.partition}:kms:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:key/0f1e2d3c-1111-2222-3333-444455556666"]
    condition {
      test     = "StringEquals"
      variable = "kms:ViaService"
      values   = ["s3.${data.aws_region.current.name}.${data.aws_partition.current.dns_suffix}"]
    }
  }
  # events to the queue
  statement {
    sid       = "NotifyTold"
    actions   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"]
    resources = ["arn:${data.aws_partition.current.partition}:sqs:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:paid-orders"]
  }
  # events that are too large for a message lie in the bucket
  statement {
    sid       = "NotifyToldLarge"
    actions   = ["s3:PutObject"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::archive/removed/.~fingerprints/*"]
  }
  # what cannot be delivered
  statement {
    sid       = "DeadLetters"
    actions   = ["sqs:GetQueueAttributes", "sqs:SendMessage"]
    resources = ["arn:${data.aws_partition.current.partition}:sqs:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:many-dead"]
  }
  # what cannot be delivered and is too large for a message
  statement {
    sid       = "DeadLettersLarge"
    actions   = ["s3:PutObject"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::archive/removed/.~fingerprints/dead/many/*"]
  }
  # the bucket is looked for at the start, and letters are listed
  statement {
    sid       = "DeadLettersLargeBucket"
    actions   = ["s3:ListBucket"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::archive"]
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
    resources = ["arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.name}:${data.aws_caller_identity.current.account_id}:parameter/tablewake/many/HMAC"]
  }
}
