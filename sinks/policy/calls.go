package policy

// The actions behind the calls of each store. A transaction needs the actions of its
// parts; HeadObject is s3:GetObject, and HeadBucket s3:ListBucket; without s3:ListBucket a missing
// object is an AccessDenied, and nothing could be told of it (Service Authorization Reference).
var (
	rowActions     = []string{"dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan"} // Scan: what there is, where the state knows of nothing
	rowsThatGo     = []string{"dynamodb:DeleteItem"}                                         // where tombstones are apart
	tombstoneCheck = []string{"dynamodb:ConditionCheckItem"}                                 // of the state table, beside what the state takes

	// claimedActions are of rows that are guarded by item.
	claimedActions = []string{"dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan"}

	groupActions = []string{"dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan"}
	addedActions = []string{"dynamodb:UpdateItem"} // of groups of counts and sums alone: the others are read and replaced

	// stateActions are of births, fingerprints, guards, contributions, quarantine and gaps.
	stateActions = []string{"dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"}

	leaseActions  = []string{"dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"}
	rosterActions = []string{"dynamodb:GetItem"} // of who consumes, in the state table, beside those of the state

	streamActions  = []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}
	kinesisActions = []string{"kinesis:DescribeStream", "kinesis:DescribeStreamSummary", "kinesis:GetRecords", "kinesis:GetShardIterator", "kinesis:ListShards"}

	searchActions = []string{"es:ESHttpGet", "es:ESHttpPost", "es:ESHttpPut"}

	archiveActions = []string{"s3:GetObject", "s3:PutObject"}
	partsActions   = []string{"s3:AbortMultipartUpload"}
	tagActions     = []string{"s3:PutObjectTagging"}
	keyActions     = []string{"kms:Decrypt", "kms:GenerateDataKey"}

	queueActions = []string{"sqs:GetQueueAttributes", "sqs:SendMessage"}
	named        = []string{"sqs:GetQueueUrl"} // of a queue that is not given by its URL
	topicActions = []string{"sns:GetTopicAttributes", "sns:Publish"}
	busActions   = []string{"events:DescribeEventBus", "events:PutEvents"}

	letterActions       = []string{"s3:PutObject"}
	redriveActions      = []string{"s3:DeleteObject", "s3:GetObject"}
	letterQueueActions  = []string{"sqs:GetQueueAttributes", "sqs:SendMessage"}
	redriveQueueActions = []string{"sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"}

	createTableActions  = []string{"dynamodb:CreateTable", "dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive", "dynamodb:UpdateTimeToLive"}
	createBucketActions = []string{"s3:CreateBucket", "s3:ListBucket", "s3:PutLifecycleConfiguration"}
)
