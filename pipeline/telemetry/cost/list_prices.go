package cost

import "slices"

// The services, as attributes name them.
const (
	DynamoDB    = "dynamodb"
	Streams     = "dynamodbstreams"
	S3          = "s3"
	SQS         = "sqs"
	SNS         = "sns"
	EventBridge = "eventbridge"
)

// Price is the price of a service's unit.
type Price struct {
	Service     string  // such as [DynamoDB]
	Unit        string  // the billed unit: "write", "put", ...
	Dollars     float64 // for one unit
	ListedUnits float64 // number of units that the price list has a price for, such as 1e6
	Definition  string  // definition of the unit
	Source      string  // page of the price list
}

// Prices returns the list prices in us-east-1 for the requests of a pipeline. Prices ignores free tiers, discounts and
// provisioned capacity. It leaves out costs that AWS does not bill by request: storage, traffic, the time of Lambda and
// Fargate, CloudWatch, OpenSearch.
func Prices() []Price {
	const (
		dynamodbPage    = "https://aws.amazon.com/dynamodb/pricing/on-demand/"
		s3Page          = "https://aws.amazon.com/s3/pricing/"
		sqsPage         = "https://aws.amazon.com/sqs/pricing/"
		snsPage         = "https://aws.amazon.com/sns/pricing/"
		eventbridgePage = "https://aws.amazon.com/eventbridge/pricing/"
	)
	table := []Price{
		{DynamoDB, "write", 0.625, 1e6, "a write request unit of a table on demand: 1 KB, twice that in a transaction",
			dynamodbPage},
		{DynamoDB, "read", 0.125, 1e6,
			"a read request unit of a table on demand: 4 KB, half of that if eventually consistent", dynamodbPage},
		{Streams, "read", 0.02, 1e5, "a GetRecords call", dynamodbPage},
		{S3, "put", 0.005, 1e3, "a request that writes or lists, to the classes STANDARD and INTELLIGENT_TIERING", s3Page},
		{S3, "put_infrequent", 0.01, 1e3, "one that writes to STANDARD_IA or ONEZONE_IA", s3Page},
		{S3, "put_glacier_ir", 0.02, 1e3, "one that writes to GLACIER_IR", s3Page},
		{S3, "put_glacier", 0.03, 1e3, "one that writes to GLACIER", s3Page},
		{S3, "put_deep_archive", 0.05, 1e3, "one that writes to DEEP_ARCHIVE", s3Page},
		{S3, "get", 0.0004, 1e3, "a request that reads", s3Page},
		{SQS, "request", 0.40, 1e6, "a request to a queue, for each 64 KB of its messages", sqsPage},
		{SQS, "fifo_request", 0.50, 1e6, "one to a FIFO queue", sqsPage},
		{SNS, "request", 0.50, 1e6, "a request to publish, for each 64 KB of its messages; their deliveries are billed apart",
			snsPage},
		{EventBridge, "event", 1.00, 1e6, "an event, for each 64 KB of it", eventbridgePage},
	}
	for i := range table {
		table[i].Dollars /= table[i].ListedUnits
	}
	return table
}

// DynamoDBUnitPrices returns the prices of a write unit and of a read unit.
func DynamoDBUnitPrices() (write, read Price) {
	return PriceOf(DynamoDB, "write"), PriceOf(DynamoDB, "read")
}

// PriceOf returns the price of a service's unit, or the zero Price if the unit is unknown.
func PriceOf(service, unit string) Price {
	table := Prices()
	i := slices.IndexFunc(table, func(p Price) bool { return p.Service == service && p.Unit == unit })
	if i < 0 {
		return Price{}
	}
	return table[i]
}
