# Printed by `tablewake template -o terraform` from config/tablewake.yaml: print it again when the file changes.
#
# It is a whole module: the functions with their roles, the tables and buckets that the pipeline stores in, and
# alarms. Put it into a folder of its own, with a release's tablewake-lambda_VERSION_linux_ARCH.zip as tablewake-lambda.zip,
# and tablewake.yaml with the files that it names, and nothing else, in the folder config:
#
#   terraform init && terraform apply
#
# With -var create_storage=false the tables and buckets must exist.

terraform {
  required_version = ">= 1.9"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
    archive = {
      source  = "hashicorp/archive"
      version = "~> 2.4"
    }
  }
}

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

variable "batch_size" {
  type        = number
  default     = 500
  description = "Records of an invocation at most."
}

variable "batch_window" {
  type        = number
  default     = 0
  description = "Seconds that Lambda waits for more records before it invokes."
}

variable "parallelization_factor" {
  type        = number
  default     = 2
  description = "Invocations of a shard at once. The changes of an item stay in order whatever it is."
}

variable "architecture" {
  type        = string
  default     = "arm64"
  description = "arm64 or x86_64. The bootstrap must be built for it."
}

variable "memory_size" {
  type    = number
  default = 512
}

variable "timeout" {
  type        = number
  default     = 60
  description = "Seconds. What is finished before it counts; the rest comes again."
}

variable "subnet_ids" {
  type        = list(string)
  default     = []
  description = "Subnets of a VPC, where a sink of yours is in one. They need a way to DynamoDB, S3, and the sinks."
}

variable "security_group_ids" {
  type    = list(string)
  default = []
}

variable "permissions_boundary" {
  type        = string
  default     = null
  description = "ARN of a policy that bounds the roles."
}

variable "kms_key_arn" {
  type        = string
  default     = null
  description = "A KMS key of yours for all that is encrypted. Without it, the services' own keys are used."
}

variable "log_days" {
  type    = number
  default = 30
}

variable "alarm_actions" {
  type        = list(string)
  default     = []
  description = "ARNs of SNS topics that alarms are sent to."
}

variable "iterator_age_alarm" {
  type        = number
  default     = 3600000
  description = "Milliseconds that the function may be behind. The stream drops records after 86,400,000."
}

variable "tags" {
  type    = map(string)
  default = {}
}

data "aws_partition" "current" {}
data "aws_region" "current" {}
data "aws_caller_identity" "current" {}

locals {
  name   = "tablewake-many"
  prefix = "tablewake-many" # of names that end with a random suffix

  # ssm:NAME in it is a SecureString of Parameter Store.
  environment = {
    TABLEWAKE_CONFIG = "/opt/tablewake.yaml"
    HMAC             = "ssm:/tablewake/many/HMAC"
    BUCKET           = "archive"
  }
}

# --- The function ---

data "archive_file" "configuration" {
  type        = "zip"
  source_dir  = "${path.module}/config"
  output_path = "${path.module}/.configuration.zip"
}

resource "aws_lambda_layer_version" "configuration" {
  layer_name       = "${local.name}-configuration"
  filename         = data.archive_file.configuration.output_path
  source_code_hash = data.archive_file.configuration.output_base64sha256
}

resource "aws_lambda_function" "pipeline" {
  function_name    = local.name
  description      = "Delivers the changes of the table to the sinks of tablewake.yaml."
  role             = aws_iam_role.pipeline.arn
  runtime          = "provided.al2023"
  handler          = "bootstrap"
  filename         = "${path.module}/tablewake-lambda.zip"
  source_code_hash = filebase64sha256("${path.module}/tablewake-lambda.zip")
  architectures    = [var.architecture]
  memory_size      = var.memory_size
  timeout          = var.timeout
  layers           = [aws_lambda_layer_version.configuration.arn]
  kms_key_arn      = var.kms_key_arn
  tags             = var.tags

  environment {
    variables = local.environment
  }

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.pipeline.name
  }

  tracing_config {
    mode = "Active"
  }

  dynamic "vpc_config" {
    for_each = length(var.subnet_ids) > 0 ? [1] : []
    content {
      subnet_ids         = var.subnet_ids
      security_group_ids = var.security_group_ids
    }
  }
}

resource "aws_cloudwatch_log_group" "pipeline" {
  name              = "/tablewake/many"
  retention_in_days = var.log_days
  kms_key_id        = var.kms_key_arn
  tags              = var.tags
}

resource "aws_iam_role" "pipeline" {
  name_prefix          = "${local.prefix}-"
  permissions_boundary = var.permissions_boundary
  tags                 = var.tags

  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "lambda.amazonaws.com" }, Action = "sts:AssumeRole" }]
  })
}

resource "aws_iam_role_policy_attachment" "pipeline" {
  count      = length(var.subnet_ids) > 0 ? 1 : 0
  role       = aws_iam_role.pipeline.name
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole"
}

resource "aws_iam_role_policy" "pipeline" {
  name   = "pipeline"
  role   = aws_iam_role.pipeline.id
  policy = data.aws_iam_policy_document.pipeline.json
}

data "aws_iam_policy_document" "pipeline" {
  # the event source mapping reads the stream with this role
  statement {
    sid       = "SourceStream"
    actions   = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/order-lines/stream/*", "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/orders/stream/*"]
  }
  # streams are found by ListStreams, which takes no resource
  statement {
    sid       = "SourceStreams"
    actions   = ["dynamodb:ListStreams"]
    resources = ["*"]
  }
  # objects, and the record of the settings beside them; s3:GetObject lets HeadObject compare an object that exists with the one to write, and lets If-Match replace it
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
    resources = ["arn:${data.aws_partition.current.partition}:kms:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:key/0f1e2d3c-1111-2222-3333-444455556666"]
    condition {
      test     = "StringEquals"
      variable = "kms:ViaService"
      values   = ["s3.${data.aws_region.current.region}.${data.aws_partition.current.dns_suffix}"]
    }
  }
  # events to the queue
  statement {
    sid       = "NotifyTold"
    actions   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"]
    resources = ["arn:${data.aws_partition.current.partition}:sqs:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:paid-orders"]
  }
  # events that are too large for a message are in the bucket
  statement {
    sid       = "NotifyToldLarge"
    actions   = ["s3:PutObject"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::archive/removed/.~fingerprints/*"]
  }
  # what cannot be delivered
  statement {
    sid       = "DeadLetters"
    actions   = ["sqs:GetQueueAttributes", "sqs:SendMessage"]
    resources = ["arn:${data.aws_partition.current.partition}:sqs:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:many-dead"]
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

  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.pipeline.arn}:*"]
  }

  statement {
    sid       = "Traces"
    actions   = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"]
    resources = ["*"]
  }

  # Lambda writes what it gives up with this role.
  statement {
    sid       = "FailedBatches"
    actions   = ["s3:PutObject"]
    resources = ["${aws_s3_bucket.failed_batches.arn}/*"]
  }

  statement {
    sid       = "FailedBatchesBucket"
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.failed_batches.arn]
  }

  dynamic "statement" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]
    content {
      sid       = "Key"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = [statement.value]
    }
  }

  # The environment's ssm:NAME.
  statement {
    sid       = "Secrets"
    actions   = ["ssm:GetParameter"]
    resources = ["arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter/tablewake/many/HMAC"]
  }
}

resource "aws_lambda_function" "redrive" {
  function_name    = "${local.name}-redrive"
  description      = "Delivers the batches that Lambda gave up."
  role             = aws_iam_role.redrive.arn
  runtime          = "provided.al2023"
  handler          = "bootstrap"
  filename         = "${path.module}/tablewake-lambda.zip"
  source_code_hash = filebase64sha256("${path.module}/tablewake-lambda.zip")
  architectures    = [var.architecture]
  memory_size      = var.memory_size
  timeout          = 300
  layers           = [aws_lambda_layer_version.configuration.arn]
  kms_key_arn      = var.kms_key_arn
  tags             = var.tags

  environment {
    variables = local.environment
  }

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.redrive.name
  }

  tracing_config {
    mode = "Active"
  }

  dynamic "vpc_config" {
    for_each = length(var.subnet_ids) > 0 ? [1] : []
    content {
      subnet_ids         = var.subnet_ids
      security_group_ids = var.security_group_ids
    }
  }
}

resource "aws_cloudwatch_log_group" "redrive" {
  name              = "/tablewake/many-redrive"
  retention_in_days = var.log_days
  kms_key_id        = var.kms_key_arn
  tags              = var.tags
}

resource "aws_iam_role" "redrive" {
  name_prefix          = "${local.prefix}-redrive-"
  permissions_boundary = var.permissions_boundary
  tags                 = var.tags

  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "lambda.amazonaws.com" }, Action = "sts:AssumeRole" }]
  })
}

resource "aws_iam_role_policy_attachment" "redrive" {
  count      = length(var.subnet_ids) > 0 ? 1 : 0
  role       = aws_iam_role.redrive.name
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole"
}

resource "aws_iam_role_policy" "redrive" {
  name   = "pipeline"
  role   = aws_iam_role.redrive.id
  policy = data.aws_iam_policy_document.redrive.json
}

data "aws_iam_policy_document" "redrive" {
  # the event source mapping reads the stream with this role
  statement {
    sid       = "SourceStream"
    actions   = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/order-lines/stream/*", "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/orders/stream/*"]
  }
  # streams are found by ListStreams, which takes no resource
  statement {
    sid       = "SourceStreams"
    actions   = ["dynamodb:ListStreams"]
    resources = ["*"]
  }
  # objects, and the record of the settings beside them; s3:GetObject lets HeadObject compare an object that exists with the one to write, and lets If-Match replace it
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
    resources = ["arn:${data.aws_partition.current.partition}:kms:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:key/0f1e2d3c-1111-2222-3333-444455556666"]
    condition {
      test     = "StringEquals"
      variable = "kms:ViaService"
      values   = ["s3.${data.aws_region.current.region}.${data.aws_partition.current.dns_suffix}"]
    }
  }
  # events to the queue
  statement {
    sid       = "NotifyTold"
    actions   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"]
    resources = ["arn:${data.aws_partition.current.partition}:sqs:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:paid-orders"]
  }
  # events that are too large for a message are in the bucket
  statement {
    sid       = "NotifyToldLarge"
    actions   = ["s3:PutObject"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::archive/removed/.~fingerprints/*"]
  }
  # what cannot be delivered
  statement {
    sid       = "DeadLetters"
    actions   = ["sqs:GetQueueAttributes", "sqs:SendMessage"]
    resources = ["arn:${data.aws_partition.current.partition}:sqs:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:many-dead"]
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

  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.redrive.arn}:*"]
  }

  statement {
    sid       = "Traces"
    actions   = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"]
    resources = ["*"]
  }

  # It reads what Lambda gave up.
  statement {
    sid       = "FailedBatches"
    actions   = ["s3:GetObject", "s3:GetObjectVersion"]
    resources = ["${aws_s3_bucket.failed_batches.arn}/*"]
  }

  statement {
    sid       = "FailedBatchesBucket"
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.failed_batches.arn]
  }

  statement {
    sid       = "RedriveQueue"
    actions   = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]
    resources = [aws_sqs_queue.redrive.arn]
  }

  dynamic "statement" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]
    content {
      sid       = "Key"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = [statement.value]
    }
  }

  # The environment's ssm:NAME.
  statement {
    sid       = "Secrets"
    actions   = ["ssm:GetParameter"]
    resources = ["arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter/tablewake/many/HMAC"]
  }
}

resource "aws_lambda_event_source_mapping" "changes_orders" {
  function_name                      = aws_lambda_function.pipeline.arn
  event_source_arn                   = var.stream_arn_orders
  starting_position                  = "TRIM_HORIZON"
  batch_size                         = var.batch_size
  maximum_batching_window_in_seconds = var.batch_window
  parallelization_factor             = var.parallelization_factor
  function_response_types            = ["ReportBatchItemFailures"] # only what is not finished comes again
  bisect_batch_on_function_error     = true                        # for crashes
  maximum_retry_attempts             = var.maximum_retry_attempts
  maximum_record_age_in_seconds      = var.maximum_record_age_in_seconds
  tags                               = var.tags
  depends_on                         = [aws_iam_role_policy.pipeline]

  destination_config {
    on_failure {
      destination_arn = aws_s3_bucket.failed_batches.arn
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
  function_name                      = aws_lambda_function.pipeline.arn
  event_source_arn                   = var.stream_arn_order_lines
  starting_position                  = "TRIM_HORIZON"
  batch_size                         = var.batch_size
  maximum_batching_window_in_seconds = var.batch_window
  parallelization_factor             = var.parallelization_factor
  function_response_types            = ["ReportBatchItemFailures"] # only what is not finished comes again
  bisect_batch_on_function_error     = true                        # for crashes
  maximum_retry_attempts             = var.maximum_retry_attempts
  maximum_record_age_in_seconds      = var.maximum_record_age_in_seconds
  tags                               = var.tags
  depends_on                         = [aws_iam_role_policy.pipeline]

  destination_config {
    on_failure {
      destination_arn = aws_s3_bucket.failed_batches.arn
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

# --- What Lambda gives up, where limits are set. Redrive delivers it ---

# It may hold records that are nowhere else.
resource "aws_s3_bucket" "failed_batches" {
  bucket_prefix = "tablewake-failed-batches-"
  tags          = var.tags

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_s3_bucket_versioning" "failed_batches" {
  bucket = aws_s3_bucket.failed_batches.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "failed_batches" {
  bucket = aws_s3_bucket.failed_batches.id

  rule {
    bucket_key_enabled = var.kms_key_arn != null

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

resource "aws_s3_bucket_public_access_block" "failed_batches" {
  bucket                  = aws_s3_bucket.failed_batches.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "failed_batches" {
  bucket = aws_s3_bucket.failed_batches.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "failed_batches" {
  bucket     = aws_s3_bucket.failed_batches.id
  depends_on = [aws_s3_bucket_versioning.failed_batches]

  rule {
    id     = "old"
    status = "Enabled"

    filter {}

    expiration {
      days = 90
    }

    noncurrent_version_expiration {
      noncurrent_days = 7
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 2
    }
  }
}

resource "aws_s3_bucket_policy" "failed_batches" {
  bucket = aws_s3_bucket.failed_batches.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "OnlyTLS"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [aws_s3_bucket.failed_batches.arn, "${aws_s3_bucket.failed_batches.arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

resource "aws_s3_bucket_notification" "failed_batches" {
  bucket     = aws_s3_bucket.failed_batches.id
  depends_on = [aws_sqs_queue_policy.redrive]

  queue {
    queue_arn     = aws_sqs_queue.redrive.arn
    events        = ["s3:ObjectCreated:*"]
    filter_prefix = "aws/lambda/"
  }
}

resource "aws_sqs_queue" "redrive" {
  name_prefix                = "${local.prefix}-redrive-"
  message_retention_seconds  = 1209600
  visibility_timeout_seconds = 1800 # six times the timeout of the function
  kms_master_key_id          = var.kms_key_arn
  sqs_managed_sse_enabled    = var.kms_key_arn == null ? true : null
  redrive_policy             = jsonencode({ deadLetterTargetArn = aws_sqs_queue.redrive_failures.arn, maxReceiveCount = 4 })
  tags                       = var.tags
}

# Messages of batches that could not be delivered four times. The batches are in the bucket, for 90 days.
resource "aws_sqs_queue" "redrive_failures" {
  name_prefix               = "${local.prefix}-redrive-failures-"
  message_retention_seconds = 1209600
  kms_master_key_id         = var.kms_key_arn
  sqs_managed_sse_enabled   = var.kms_key_arn == null ? true : null
  tags                      = var.tags
}

resource "aws_sqs_queue_policy" "redrive" {
  queue_url = aws_sqs_queue.redrive.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "BucketTellsQueue"
      Effect    = "Allow"
      Principal = { Service = "s3.amazonaws.com" }
      Action    = "sqs:SendMessage"
      Resource  = aws_sqs_queue.redrive.arn
      Condition = { StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } }
    }]
  })
}

resource "aws_lambda_event_source_mapping" "redrive" {
  function_name           = aws_lambda_function.redrive.arn
  event_source_arn        = aws_sqs_queue.redrive.arn
  batch_size              = 1
  function_response_types = ["ReportBatchItemFailures"]
  tags                    = var.tags
  depends_on              = [aws_iam_role_policy.redrive]

  scaling_config {
    maximum_concurrency = 2
  }
}

resource "aws_lambda_function_event_invoke_config" "redrive" {
  function_name          = aws_lambda_function.redrive.function_name
  maximum_retry_attempts = 0 # what Lambda would try again comes by itself
}

# --- Alarms ---

resource "aws_cloudwatch_metric_alarm" "iterator_age" {
  alarm_name          = "${local.name}-iterator_age"
  alarm_description   = "The function is behind the table. After 24 hours the stream drops what is not delivered. Look at errors, throttles and the sinks' lag; raise ParallelizationFactor if they are healthy."
  namespace           = "AWS/Lambda"
  metric_name         = "IteratorAge"
  dimensions          = { FunctionName = aws_lambda_function.pipeline.function_name }
  statistic           = "Maximum"
  period              = 60
  evaluation_periods  = 5
  threshold           = var.iterator_age_alarm
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "nearly_lost" {
  alarm_name          = "${local.name}-nearly_lost"
  alarm_description   = "The function is 20 hours behind the table, and after 24 the stream drops what is not delivered, without a message. Fix the sink, or remove what the log names, within four hours."
  namespace           = "AWS/Lambda"
  metric_name         = "IteratorAge"
  dimensions          = { FunctionName = aws_lambda_function.pipeline.function_name }
  statistic           = "Maximum"
  period              = 60
  evaluation_periods  = 5
  threshold           = 72000000
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "errors" {
  alarm_name          = "${local.name}-errors"
  alarm_description   = "Invocations fail as a whole, so that batches come again and again. The log says why; a crash is halved until the record that causes it stands alone."
  namespace           = "AWS/Lambda"
  metric_name         = "Errors"
  dimensions          = { FunctionName = aws_lambda_function.pipeline.function_name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 3
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "throttles" {
  alarm_name          = "${local.name}-throttles"
  alarm_description   = "The account has no concurrency left for the function, and it falls behind."
  namespace           = "AWS/Lambda"
  metric_name         = "Throttles"
  dimensions          = { FunctionName = aws_lambda_function.pipeline.function_name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 3
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "not_kept" {
  alarm_name          = "${local.name}-not_kept"
  alarm_description   = "Lambda gave up records and could not write them into the bucket FailedBatches: they are nowhere else once the stream drops them. Look at the role's rights on the bucket and the key; the function's log names the records that failed."
  namespace           = "AWS/Lambda"
  metric_name         = "DestinationDeliveryFailures"
  dimensions          = { FunctionName = aws_lambda_function.pipeline.function_name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "redrive_errors" {
  alarm_name          = "${local.name}-redrive_errors"
  alarm_description   = "What Lambda gave up, or dead letters, cannot be brought back. The log says why."
  namespace           = "AWS/Lambda"
  metric_name         = "Errors"
  dimensions          = { FunctionName = aws_lambda_function.redrive.function_name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 3
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "dead_letters" {
  alarm_name          = "${local.name}-dead_letters"
  alarm_description   = "Changes could not be delivered and are in dead letters. Look with `tablewake redrive --live --list`, fix the cause, then redrive."
  namespace           = "tablewake"
  metric_name         = "tablewake.sink.letters"
  dimensions          = { pipeline = "many" }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "returned" {
  alarm_name          = "${local.name}-returned"
  alarm_description   = "For half an hour records have been given back to come again: a sink does not answer, or the function's time is too short. The log names the sink."
  namespace           = "tablewake"
  metric_name         = "tablewake.handler.returned"
  dimensions          = { pipeline = "many" }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 6
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "lost" {
  alarm_name          = "${local.name}-lost"
  alarm_description   = "Lambda gave up batches by a limit that you set, and neither the bucket nor the stream has their records. `tablewake status --live` lists the gaps, and `tablewake gaps --live --repair --audit` repairs the sinks."
  namespace           = "tablewake"
  metric_name         = "tablewake.handler.lost"
  dimensions          = { pipeline = "many" }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "redrive_failed" {
  alarm_name          = "${local.name}-redrive_failed"
  alarm_description   = "Batches that Lambda gave up could not be brought back. They are in the bucket FailedBatches; fix what the function's log says, and start the redrive of the queue RedriveFailures."
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  dimensions          = { QueueName = aws_sqs_queue.redrive_failures.name }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "redrive_late" {
  alarm_name          = "${local.name}-redrive_late"
  alarm_description   = "Batches that Lambda gave up wait for 45 minutes to be brought back. The log of Redrive says why; what fails four times goes to the queue RedriveFailures, and the bucket FailedBatches keeps it for 90 days."
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateAgeOfOldestMessage"
  dimensions          = { QueueName = aws_sqs_queue.redrive.name }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 2700
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = var.tags
}

# --- What the pipeline stores in. Terraform refuses to destroy it: prevent_destroy. To destroy the module and keep this,
# take these resources out of its state first (terraform state rm). ---

variable "create_storage" {
  type        = bool
  default     = true
  description = "Whether the tables, buckets, queues, topics and buses are made. Without it, they must exist."
}

# of removed
resource "aws_s3_bucket" "bucket_archive" {
  count  = var.create_storage ? 1 : 0
  bucket = "archive"
  tags   = var.tags

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_s3_bucket_versioning" "bucket_archive" {
  count  = var.create_storage ? 1 : 0
  bucket = aws_s3_bucket.bucket_archive[0].id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "bucket_archive" {
  count  = var.create_storage ? 1 : 0
  bucket = aws_s3_bucket.bucket_archive[0].id

  rule {
    bucket_key_enabled = var.kms_key_arn != null

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

resource "aws_s3_bucket_public_access_block" "bucket_archive" {
  count                   = var.create_storage ? 1 : 0
  bucket                  = aws_s3_bucket.bucket_archive[0].id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "bucket_archive" {
  count  = var.create_storage ? 1 : 0
  bucket = aws_s3_bucket.bucket_archive[0].id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "bucket_archive" {
  count      = var.create_storage ? 1 : 0
  bucket     = aws_s3_bucket.bucket_archive[0].id
  depends_on = [aws_s3_bucket_versioning.bucket_archive]

  rule {
    id     = "old"
    status = "Enabled"

    filter {}

    noncurrent_version_expiration {
      noncurrent_days = 30
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 2
    }
  }
}

resource "aws_s3_bucket_policy" "bucket_archive" {
  count  = var.create_storage ? 1 : 0
  bucket = aws_s3_bucket.bucket_archive[0].id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "OnlyTLS"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [aws_s3_bucket.bucket_archive[0].arn, "${aws_s3_bucket.bucket_archive[0].arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

# of told
resource "aws_sqs_queue" "queue_paid_orders" {
  count                     = var.create_storage ? 1 : 0
  name                      = "paid-orders"
  message_retention_seconds = 1209600
  kms_master_key_id         = var.kms_key_arn
  sqs_managed_sse_enabled   = var.kms_key_arn == null ? true : null
  tags                      = var.tags

  lifecycle {
    prevent_destroy = true
  }
}

# of dead letters
resource "aws_sqs_queue" "queue_many_dead" {
  count                     = var.create_storage && data.aws_caller_identity.current.account_id == "123456789012" && data.aws_region.current.region == "eu-central-1" ? 1 : 0
  name                      = "many-dead"
  message_retention_seconds = 1209600
  kms_master_key_id         = var.kms_key_arn
  sqs_managed_sse_enabled   = var.kms_key_arn == null ? true : null
  tags                      = var.tags

  lifecycle {
    prevent_destroy = true
  }
}

output "function" {
  value = aws_lambda_function.pipeline.arn
}

output "failed_batches" {
  value = aws_s3_bucket.failed_batches.id
}

