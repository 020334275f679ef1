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

	// stateActions are of births, fingerprints, guards, contributions, quarantine, gaps and consumers: all name
	// the partition keys of rows, which a condition compares. The others are of the whole table.
	stateActions      = []string{"dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"}
	stateTableActions = []string{"dynamodb:DescribeTable"}
	statePurgeActions = []string{"dynamodb:Scan"}

	leaseActions = []string{"dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"}

	// sharedActions are of the rows that the pipelines of a state table share: the count of DescribeStream calls,
	// and whose a lease table is.
	sharedActions = []string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}

	streamActions  = []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}
	kinesisActions = []string{"kinesis:DescribeStream", "kinesis:DescribeStreamSummary", "kinesis:GetRecords", "kinesis:GetShardIterator", "kinesis:ListShards"}

	indexActions   = []string{"es:ESHttpGet", "es:ESHttpPost", "es:ESHttpPut"}
	recordActions  = []string{"es:ESHttpGet", "es:ESHttpPut"} // of the sink's record, and of the script
	severalActions = []string{"es:ESHttpPost"}                // of requests that name several indexes in their bodies

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
