package policy

// The actions that the calls of each store need. A transaction needs the actions of its parts. HeadObject needs
// s3:GetObject, and HeadBucket needs s3:ListBucket. Without s3:ListBucket, S3 answers AccessDenied for a missing
// object, as for a forbidden object (Service Authorization Reference).
var (
	// rowActions are for the rows of views. They include Scan, because the pipeline looks for rows at its start if the
	// state has no birth. A birth is the recorded identity of an output.
	rowActions = []string{"dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan"}
	// rowDeleteActions are for rows whose tombstones are in the state table, not in the rows.
	rowDeleteActions = []string{"dynamodb:DeleteItem"}
	// tombstoneCheckActions are for tombstones in the state table, in addition to stateActions.
	tombstoneCheckActions = []string{"dynamodb:ConditionCheckItem"}

	// claimedActions are for rows whose guards may be in the state table, because several items may claim such a row.
	claimedActions = []string{"dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem",
		"dynamodb:Scan"}

	groupActions = []string{"dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem",
		"dynamodb:Scan"}
	// sumActions are for groups that have only counts and sums. Other groups are read and replaced.
	sumActions = []string{"dynamodb:UpdateItem"}

	// stateActions are for births, fingerprints, backfills, guards, contributions, quarantine, gaps and consumers.
	// Their requests name the partition keys of rows, and a condition limits these keys. stateTableActions and
	// statePurgeActions are for the whole table.
	stateActions = []string{"dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:Query",
		"dynamodb:UpdateItem"}
	stateTableActions = []string{"dynamodb:DescribeTable"}
	statePurgeActions = []string{"dynamodb:Scan"}

	leaseActions = []string{"dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem",
		"dynamodb:Scan", "dynamodb:UpdateItem"}

	// sharedStateActions are for the rows that all pipelines of a state table share. These rows have the count of
	// DescribeStream calls, and the pipeline that a lease table belongs to.
	sharedStateActions = []string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}

	streamActions  = []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}
	kinesisActions = []string{"kinesis:DescribeStream", "kinesis:DescribeStreamSummary", "kinesis:GetRecords",
		"kinesis:GetShardIterator", "kinesis:ListShards"}

	// The next actions are for a backfill. DynamoDB writes an export with the rights of the caller that requests the
	// export (Developer Guide, "Requesting a table export").
	scanTableActions    = []string{"dynamodb:DescribeTable", "dynamodb:Scan"}
	exportActions       = []string{"dynamodb:DescribeContinuousBackups", "dynamodb:ExportTableToPointInTime"}
	exportStatusActions = []string{"dynamodb:DescribeExport"}
	exportObjectActions = []string{"s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject", "s3:PutObjectAcl"}
	readLeaseActions    = []string{"dynamodb:DescribeTable", "dynamodb:Scan"}
	functionActions     = []string{"lambda:GetFunctionConfiguration"}
	mappingActions      = []string{"lambda:GetEventSourceMapping", "lambda:ListEventSourceMappings"}

	// The next actions are for an audit.
	auditActions       = []string{"dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan"}
	auditStateActions  = []string{"dynamodb:BatchGetItem", "dynamodb:Query"}
	auditLetterActions = []string{"s3:GetObject"}
	auditQueueActions  = []string{"sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}
	auditIndexActions  = []string{"es:ESHttpGet", "es:ESHttpPost"}
	scrollActions      = []string{"es:ESHttpDelete", "es:ESHttpPost"}

	indexActions        = []string{"es:ESHttpGet", "es:ESHttpPost", "es:ESHttpPut"}
	sinkMetadataActions = []string{"es:ESHttpGet", "es:ESHttpPut"} // for the sink's record and for the script
	bulkActions         = []string{"es:ESHttpPost"}                // for requests whose bodies name several indexes

	archiveActions   = []string{"s3:GetObject", "s3:PutObject"}
	multipartActions = []string{"s3:AbortMultipartUpload"}
	tagActions       = []string{"s3:PutObjectTagging"}
	kmsActions       = []string{"kms:Decrypt", "kms:GenerateDataKey"}

	sendQueueActions = []string{"sqs:GetQueueAttributes", "sqs:SendMessage"}
	queueURLActions  = []string{"sqs:GetQueueUrl"} // used for a queue that the file does not name by its URL
	topicActions     = []string{"sns:GetTopicAttributes", "sns:Publish"}
	busActions       = []string{"events:DescribeEventBus", "events:PutEvents"}

	letterActions       = []string{"s3:PutObject"}
	redriveActions      = []string{"s3:DeleteObject", "s3:GetObject"}
	letterQueueActions  = []string{"sqs:GetQueueAttributes", "sqs:SendMessage"}
	redriveQueueActions = []string{"sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"}

	createTableActions = []string{"dynamodb:CreateTable", "dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive",
		"dynamodb:UpdateTimeToLive"}
	createBucketActions = []string{"s3:CreateBucket", "s3:ListBucket", "s3:PutLifecycleConfiguration"}
	createQueueActions  = []string{"sqs:CreateQueue", "sqs:GetQueueAttributes"}
	createTopicActions  = []string{"sns:CreateTopic", "sns:GetTopicAttributes"}
	createBusActions    = []string{"events:CreateEventBus", "events:DescribeEventBus"}
)
