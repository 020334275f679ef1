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

variable "stream_arn" {
  type        = string
  description = "ARN of the stream of table shop."
}
variable "open_search_domain" {
  type        = string
  description = "Name of the Amazon OpenSearch domain of the connection os, which the roles reach. Its endpoint does not have the name."
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
  name   = "tablewake-shop"
  prefix = "tablewake-shop" # of names that end with a random suffix

  # ssm:NAME in it is a SecureString of Parameter Store.
  environment = {
    TABLEWAKE_CONFIG   = "/opt/tablewake.yaml"
    TABLEWAKE_HMAC_KEY = "ssm:/tablewake/shop/TABLEWAKE_HMAC_KEY"
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
  name              = "/tablewake/shop"
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
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop/stream/*"]
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
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows, each with its own guard
  statement {
    sid       = "ViewOrdersByAmount"
    actions   = ["dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows of items, which the state guards
  statement {
    sid       = "ViewOrderLines"
    actions   = ["dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows that are guarded by item, or may be
  statement {
    sid       = "ViewUserByEmail"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows of groups
  statement {
    sid       = "AggregateRevenuePerDay"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows of groups
  statement {
    sid       = "AggregateUnitsSold"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # documents, and the index behind its alias
  statement {
    sid       = "SearchProducts"
    actions   = ["es:ESHttpGet", "es:ESHttpPost", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/products,products.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/products.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/products.tw1/*", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/products/*"]
  }
  # the record of the sink's settings and birth
  statement {
    sid       = "SearchProductsRecord"
    actions   = ["es:ESHttpGet", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/tablewake", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/tablewake/_doc/shop,products"]
  }
  # the script that compares versions, which all sinks share
  statement {
    sid       = "SearchProductsScript"
    actions   = ["es:ESHttpGet", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/_scripts/tablewake-*"]
  }
  # documents, and the index behind its alias
  statement {
    sid       = "SearchCompleted"
    actions   = ["es:ESHttpGet", "es:ESHttpPost", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/orders,orders.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/orders.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/orders.tw1/*", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/orders/*"]
  }
  # the record of the sink's settings and birth
  statement {
    sid       = "SearchCompletedRecord"
    actions   = ["es:ESHttpGet", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/tablewake", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/tablewake/_doc/shop,completed"]
  }
  # the script that compares versions, which all sinks share
  statement {
    sid       = "SearchCompletedScript"
    actions   = ["es:ESHttpGet", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/_scripts/tablewake-*"]
  }
  # objects, and the record of the settings beside them; s3:GetObject lets HeadObject compare an object that exists with the one to write, and lets If-Match replace it
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
  # objects, and the record of the settings beside them; s3:GetObject lets HeadObject compare an object that exists with the one to write, and lets If-Match replace it
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
    sid       = "NotifyMail"
    actions   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"]
    resources = ["arn:${data.aws_partition.current.partition}:sqs:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:shop-mail"]
  }
  # events that are too large for a message are in the bucket
  statement {
    sid       = "NotifyMailLarge"
    actions   = ["s3:PutObject"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::shop-archive/archive/.~fingerprints/*"]
  }
  # events to the queue
  statement {
    sid       = "NotifyOnCompleted"
    actions   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"]
    resources = ["arn:${data.aws_partition.current.partition}:sqs:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:shop-completed"]
  }
  # events that are too large for a message are in the bucket
  statement {
    sid       = "NotifyOnCompletedLarge"
    actions   = ["s3:PutObject"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::shop-archive/archive/.~fingerprints/*"]
  }
  # what sinks remember of items, and the record of their settings: the rows of this pipeline
  statement {
    sid       = "State"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/tablewake-state"]
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
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/tablewake-state"]
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
    resources = ["arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter/tablewake/shop/TABLEWAKE_HMAC_KEY"]
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
  name              = "/tablewake/shop-redrive"
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
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop/stream/*"]
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
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows, each with its own guard
  statement {
    sid       = "ViewOrdersByAmount"
    actions   = ["dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows of items, which the state guards
  statement {
    sid       = "ViewOrderLines"
    actions   = ["dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows that are guarded by item, or may be
  statement {
    sid       = "ViewUserByEmail"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows of groups
  statement {
    sid       = "AggregateRevenuePerDay"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows of groups
  statement {
    sid       = "AggregateUnitsSold"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # documents, and the index behind its alias
  statement {
    sid       = "SearchProducts"
    actions   = ["es:ESHttpGet", "es:ESHttpPost", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/products,products.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/products.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/products.tw1/*", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/products/*"]
  }
  # the record of the sink's settings and birth
  statement {
    sid       = "SearchProductsRecord"
    actions   = ["es:ESHttpGet", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/tablewake", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/tablewake/_doc/shop,products"]
  }
  # the script that compares versions, which all sinks share
  statement {
    sid       = "SearchProductsScript"
    actions   = ["es:ESHttpGet", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/_scripts/tablewake-*"]
  }
  # documents, and the index behind its alias
  statement {
    sid       = "SearchCompleted"
    actions   = ["es:ESHttpGet", "es:ESHttpPost", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/orders,orders.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/orders.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/orders.tw1/*", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/orders/*"]
  }
  # the record of the sink's settings and birth
  statement {
    sid       = "SearchCompletedRecord"
    actions   = ["es:ESHttpGet", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/tablewake", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/tablewake/_doc/shop,completed"]
  }
  # the script that compares versions, which all sinks share
  statement {
    sid       = "SearchCompletedScript"
    actions   = ["es:ESHttpGet", "es:ESHttpPut"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/_scripts/tablewake-*"]
  }
  # objects, and the record of the settings beside them; s3:GetObject lets HeadObject compare an object that exists with the one to write, and lets If-Match replace it
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
  # objects, and the record of the settings beside them; s3:GetObject lets HeadObject compare an object that exists with the one to write, and lets If-Match replace it
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
    sid       = "NotifyMail"
    actions   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"]
    resources = ["arn:${data.aws_partition.current.partition}:sqs:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:shop-mail"]
  }
  # events that are too large for a message are in the bucket
  statement {
    sid       = "NotifyMailLarge"
    actions   = ["s3:PutObject"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::shop-archive/archive/.~fingerprints/*"]
  }
  # events to the queue
  statement {
    sid       = "NotifyOnCompleted"
    actions   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"]
    resources = ["arn:${data.aws_partition.current.partition}:sqs:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:shop-completed"]
  }
  # events that are too large for a message are in the bucket
  statement {
    sid       = "NotifyOnCompletedLarge"
    actions   = ["s3:PutObject"]
    resources = ["arn:${data.aws_partition.current.partition}:s3:::shop-archive/archive/.~fingerprints/*"]
  }
  # what sinks remember of items, and the record of their settings: the rows of this pipeline
  statement {
    sid       = "State"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/tablewake-state"]
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
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/tablewake-state"]
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
    resources = ["arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter/tablewake/shop/TABLEWAKE_HMAC_KEY"]
  }
}

resource "aws_lambda_function" "audit" {
  count = var.audit_schedule == null ? 0 : 1

  reserved_concurrent_executions = 1

  function_name    = "${local.name}-audit"
  description      = "Compares a sample of the table with the sinks."
  role             = aws_iam_role.audit.arn
  runtime          = "provided.al2023"
  handler          = "bootstrap"
  filename         = "${path.module}/tablewake-lambda.zip"
  source_code_hash = filebase64sha256("${path.module}/tablewake-lambda.zip")
  architectures    = [var.architecture]
  memory_size      = var.memory_size
  timeout          = 900
  layers           = [aws_lambda_layer_version.configuration.arn]
  kms_key_arn      = var.kms_key_arn
  tags             = var.tags

  environment {
    variables = merge(local.environment, { TABLEWAKE_COMMAND = "audit" })
  }

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.audit.name
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

resource "aws_cloudwatch_log_group" "audit" {
  name              = "/tablewake/shop-audit"
  retention_in_days = var.log_days
  kms_key_id        = var.kms_key_arn
  tags              = var.tags
}

resource "aws_iam_role" "audit" {
  name_prefix          = "${local.prefix}-audit-"
  permissions_boundary = var.permissions_boundary
  tags                 = var.tags

  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "lambda.amazonaws.com" }, Action = "sts:AssumeRole" }]
  })
}

resource "aws_iam_role_policy_attachment" "audit" {
  count      = length(var.subnet_ids) > 0 ? 1 : 0
  role       = aws_iam_role.audit.name
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole"
}

resource "aws_iam_role_policy" "audit" {
  name   = "pipeline"
  role   = aws_iam_role.audit.id
  policy = data.aws_iam_policy_document.audit.json
}

data "aws_iam_policy_document" "audit" {
  # items are read, all of them and one by one
  statement {
    sid       = "SourceTable"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop"]
  }
  # rows are read
  statement {
    sid       = "ViewOrdersByStatus"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows are read
  statement {
    sid       = "ViewOrdersByAmount"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows are read
  statement {
    sid       = "ViewOrderLines"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows are read
  statement {
    sid       = "ViewUserByEmail"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows of groups are read
  statement {
    sid       = "AggregateRevenuePerDay"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # rows of groups are read
  statement {
    sid       = "AggregateUnitsSold"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/shop-views"]
  }
  # documents are read
  statement {
    sid       = "SearchProducts"
    actions   = ["es:ESHttpGet", "es:ESHttpPost"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/products,products.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/products.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/products.tw1/*", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/products/*"]
  }
  # documents are listed page by page: the path of a page names no index
  statement {
    sid       = "SearchProductsScroll"
    actions   = ["es:ESHttpDelete", "es:ESHttpPost"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/_search/scroll"]
  }
  # the record of the sink's settings and birth
  statement {
    sid       = "SearchProductsRecord"
    actions   = ["es:ESHttpGet"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/tablewake", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/tablewake/_doc/shop,products"]
  }
  # documents are read
  statement {
    sid       = "SearchCompleted"
    actions   = ["es:ESHttpGet", "es:ESHttpPost"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/orders,orders.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/orders.tw1", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/orders.tw1/*", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/orders/*"]
  }
  # documents are listed page by page: the path of a page names no index
  statement {
    sid       = "SearchCompletedScroll"
    actions   = ["es:ESHttpDelete", "es:ESHttpPost"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/_search/scroll"]
  }
  # the record of the sink's settings and birth
  statement {
    sid       = "SearchCompletedRecord"
    actions   = ["es:ESHttpGet"]
    resources = ["arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/tablewake", "arn:${data.aws_partition.current.partition}:es:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:domain/${var.open_search_domain}/tablewake/_doc/shop,completed"]
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
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/tablewake-state"]
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
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/tablewake-state"]
  }
  # what sinks remember is listed: no condition on keys limits a Scan, which reads the rows of all pipelines
  statement {
    sid       = "StateScan"
    actions   = ["dynamodb:Scan"]
    resources = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/tablewake-state"]
  }

  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.audit.arn}:*"]
  }

  statement {
    sid       = "Traces"
    actions   = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"]
    resources = ["*"]
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
    resources = ["arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter/tablewake/shop/TABLEWAKE_HMAC_KEY"]
  }
}

resource "aws_lambda_event_source_mapping" "changes" {
  function_name                      = aws_lambda_function.pipeline.arn
  event_source_arn                   = var.stream_arn
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

  # what the sinks take: not pushed down
  #   history needs every change: it archives every change
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

# --- The audit compares a sample of the table with the sinks, and only reads. Without audit_schedule there is none ---

variable "audit_schedule" {
  type        = string
  default     = null
  description = "At least daily, as rate(1 day)."
}

variable "audit_event" {
  type    = string
  default = "{\"tablewake\":\"audit\",\"sample\":1,\"segments\":100,\"rcu\":500,\"lag\":\"2m\",\"sinks\":[\"orders_by_status\",\"orders_by_amount\",\"order_lines\",\"user_by_email\",\"products\",\"completed\"]}"
}

resource "aws_cloudwatch_event_rule" "audit" {
  count               = var.audit_schedule == null ? 0 : 1
  name_prefix         = "${local.prefix}-audit-"
  description         = "Audits a sample of the table."
  schedule_expression = var.audit_schedule
  tags                = var.tags
}

resource "aws_cloudwatch_event_target" "audit" {
  count = var.audit_schedule == null ? 0 : 1
  rule  = aws_cloudwatch_event_rule.audit[0].name
  arn   = aws_lambda_function.audit[0].arn
  input = var.audit_event

  retry_policy {
    maximum_event_age_in_seconds = 3600
    maximum_retry_attempts       = 1
  }
}

resource "aws_lambda_permission" "audit" {
  count         = var.audit_schedule == null ? 0 : 1
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.audit[0].function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.audit[0].arn
}

resource "aws_lambda_function_event_invoke_config" "audit" {
  count                  = var.audit_schedule == null ? 0 : 1
  function_name          = aws_lambda_function.audit[0].function_name
  maximum_retry_attempts = 0
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
  dimensions          = { pipeline = "shop" }
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
  dimensions          = { pipeline = "shop" }
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
  dimensions          = { pipeline = "shop" }
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

resource "aws_cloudwatch_metric_alarm" "sinks_differ" {
  count               = var.audit_schedule == null ? 0 : 1
  alarm_name          = "${local.name}-sinks_differ"
  alarm_description   = "A sample of the table differs from the sinks. The log of Audit lists the entries; `tablewake audit --live` compares everything, and repairs it with --repair."
  namespace           = "tablewake"
  metric_name         = "tablewake.audit.differences"
  dimensions          = { pipeline = "shop" }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "not_audited" {
  count               = var.audit_schedule == null ? 0 : 1
  alarm_name          = "${local.name}-not_audited"
  alarm_description   = "No audit was complete for two days. The log of Audit says why: it failed, its time was over, or entries could not be compared. Choose a smaller sample or more read units."
  namespace           = "tablewake"
  metric_name         = "tablewake.audit.complete"
  dimensions          = { pipeline = "shop" }
  statistic           = "Maximum"
  period              = 86400
  evaluation_periods  = 2
  threshold           = 1
  comparison_operator = "LessThanThreshold"
  treat_missing_data  = "breaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = var.tags
}

# --- What the pipeline stores in. Terraform refuses to destroy it: prevent_destroy. To destroy the module and keep this,
# take these resources out of its state first (terraform state rm). ---
# Left out: the domain of products: OpenSearch domains and serverless collections are not made by this template.
# Left out: the domain of completed: OpenSearch domains and serverless collections are not made by this template.

variable "create_storage" {
  type        = bool
  default     = true
  description = "Whether the tables, buckets, queues, topics and buses are made. Without it, they must exist."
}

variable "deletion_protection" {
  type    = bool
  default = true
}

# of orders_by_status, orders_by_amount, order_lines, user_by_email, revenue_per_day, units_sold
resource "aws_dynamodb_table" "table_shop_views" {
  count                       = var.create_storage ? 1 : 0
  name                        = "shop-views"
  billing_mode                = "PAY_PER_REQUEST"
  deletion_protection_enabled = var.deletion_protection
  tags                        = var.tags
  hash_key                    = "PK"
  range_key                   = "SK"

  attribute {
    name = "PK"
    type = "S"
  }

  attribute {
    name = "SK"
    type = "S"
  }

  ttl {
    attribute_name = "_tw_expires"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  dynamic "server_side_encryption" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]
    content {
      enabled     = true
      kms_key_arn = server_side_encryption.value
    }
  }

  lifecycle {
    prevent_destroy = true
  }
}

# of what the sinks remember of items
resource "aws_dynamodb_table" "table_tablewake_state" {
  count                       = var.create_storage ? 1 : 0
  name                        = "tablewake-state"
  billing_mode                = "PAY_PER_REQUEST"
  deletion_protection_enabled = var.deletion_protection
  tags                        = var.tags
  hash_key                    = "pk"
  range_key                   = "sk"

  attribute {
    name = "pk"
    type = "S"
  }

  attribute {
    name = "sk"
    type = "S"
  }

  ttl {
    attribute_name = "expires"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  dynamic "server_side_encryption" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]
    content {
      enabled     = true
      kms_key_arn = server_side_encryption.value
    }
  }

  lifecycle {
    prevent_destroy = true
  }
}

# of deleted, history
resource "aws_s3_bucket" "bucket_shop_archive" {
  count  = var.create_storage ? 1 : 0
  bucket = "shop-archive"
  tags   = var.tags

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_s3_bucket_versioning" "bucket_shop_archive" {
  count  = var.create_storage ? 1 : 0
  bucket = aws_s3_bucket.bucket_shop_archive[0].id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "bucket_shop_archive" {
  count  = var.create_storage ? 1 : 0
  bucket = aws_s3_bucket.bucket_shop_archive[0].id

  rule {
    bucket_key_enabled = var.kms_key_arn != null

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

resource "aws_s3_bucket_public_access_block" "bucket_shop_archive" {
  count                   = var.create_storage ? 1 : 0
  bucket                  = aws_s3_bucket.bucket_shop_archive[0].id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "bucket_shop_archive" {
  count  = var.create_storage ? 1 : 0
  bucket = aws_s3_bucket.bucket_shop_archive[0].id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "bucket_shop_archive" {
  count      = var.create_storage ? 1 : 0
  bucket     = aws_s3_bucket.bucket_shop_archive[0].id
  depends_on = [aws_s3_bucket_versioning.bucket_shop_archive]

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

resource "aws_s3_bucket_policy" "bucket_shop_archive" {
  count  = var.create_storage ? 1 : 0
  bucket = aws_s3_bucket.bucket_shop_archive[0].id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "OnlyTLS"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [aws_s3_bucket.bucket_shop_archive[0].arn, "${aws_s3_bucket.bucket_shop_archive[0].arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

# of dead letters
resource "aws_s3_bucket" "bucket_shop_dead" {
  count  = var.create_storage ? 1 : 0
  bucket = "shop-dead"
  tags   = var.tags

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_s3_bucket_versioning" "bucket_shop_dead" {
  count  = var.create_storage ? 1 : 0
  bucket = aws_s3_bucket.bucket_shop_dead[0].id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "bucket_shop_dead" {
  count  = var.create_storage ? 1 : 0
  bucket = aws_s3_bucket.bucket_shop_dead[0].id

  rule {
    bucket_key_enabled = var.kms_key_arn != null

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

resource "aws_s3_bucket_public_access_block" "bucket_shop_dead" {
  count                   = var.create_storage ? 1 : 0
  bucket                  = aws_s3_bucket.bucket_shop_dead[0].id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "bucket_shop_dead" {
  count  = var.create_storage ? 1 : 0
  bucket = aws_s3_bucket.bucket_shop_dead[0].id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "bucket_shop_dead" {
  count      = var.create_storage ? 1 : 0
  bucket     = aws_s3_bucket.bucket_shop_dead[0].id
  depends_on = [aws_s3_bucket_versioning.bucket_shop_dead]

  rule {
    id     = "old"
    status = "Enabled"

    filter {}

    expiration {
      days = 30
    }

    noncurrent_version_expiration {
      noncurrent_days = 7
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 2
    }
  }
}

resource "aws_s3_bucket_policy" "bucket_shop_dead" {
  count  = var.create_storage ? 1 : 0
  bucket = aws_s3_bucket.bucket_shop_dead[0].id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "OnlyTLS"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [aws_s3_bucket.bucket_shop_dead[0].arn, "${aws_s3_bucket.bucket_shop_dead[0].arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

# of mail
resource "aws_sqs_queue" "queue_shop_mail" {
  count                     = var.create_storage ? 1 : 0
  name                      = "shop-mail"
  message_retention_seconds = 1209600
  kms_master_key_id         = var.kms_key_arn
  sqs_managed_sse_enabled   = var.kms_key_arn == null ? true : null
  tags                      = var.tags

  lifecycle {
    prevent_destroy = true
  }
}

# of on_completed
resource "aws_sqs_queue" "queue_shop_completed" {
  count                     = var.create_storage ? 1 : 0
  name                      = "shop-completed"
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

