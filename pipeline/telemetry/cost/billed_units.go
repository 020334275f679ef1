package cost

import (
	"errors"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// chunk is the number of bytes that SQS, SNS and EventBridge bill as one request or event.
const chunk = 64 << 10

// chunks returns the billed chunks of a number of bytes.
func chunks(bytes int) float64 { return float64(max(1, (bytes+chunk-1)/chunk)) }

// usageOf returns the billed units of a successful call.
func usageOf(service, op string, parameters, result any) usage {
	switch service {
	case DynamoDB:
		return capacity(result)
	case Streams:
		if op == "GetRecords" {
			return usage{"read", 1}
		}
	case S3:
		return objectRequest(op, parameters)
	case SQS:
		return queueRequest(parameters, result)
	case SNS:
		return publications(parameters)
	case EventBridge:
		if in, ok := parameters.(*eventbridge.PutEventsInput); ok {
			u := usage{unit: "event"}
			for _, e := range in.Entries {
				u.quantity += chunks(size(e.Detail) + size(e.DetailType) + size(e.Source))
			}
			return u
		}
	}
	return usage{}
}

// objectRequest returns the units of a request to S3. Deletes are free, reads are cheap, and the price of writes and
// lists depends on the storage class.
func objectRequest(op string, parameters any) usage {
	switch {
	case strings.HasPrefix(op, "Delete"), strings.HasPrefix(op, "Abort"):
		return usage{}
	case strings.HasPrefix(op, "Get"), strings.HasPrefix(op, "Head"):
		return usage{"get", 1}
	}
	var class s3types.StorageClass
	switch in := parameters.(type) {
	case *s3.PutObjectInput:
		class = in.StorageClass
	case *s3.CopyObjectInput:
		class = in.StorageClass
	case *s3.CreateMultipartUploadInput:
		class = in.StorageClass
	}
	switch class {
	case s3types.StorageClassStandardIa, s3types.StorageClassOnezoneIa:
		return usage{"put_infrequent", 1}
	case s3types.StorageClassGlacierIr:
		return usage{"put_glacier_ir", 1}
	case s3types.StorageClassGlacier:
		return usage{"put_glacier", 1}
	case s3types.StorageClassDeepArchive:
		return usage{"put_deep_archive", 1}
	}
	return usage{"put", 1}
}

// queueRequest returns the units of a request to SQS. A batch is billed as one request for each 64 KB of all its
// messages together (https://aws.amazon.com/sqs/pricing/).
func queueRequest(parameters, result any) usage {
	var queue *string
	bytes := 0
	switch in := parameters.(type) {
	case *sqs.SendMessageInput:
		queue, bytes = in.QueueUrl, size(in.MessageBody)
	case *sqs.SendMessageBatchInput:
		queue = in.QueueUrl
		for _, e := range in.Entries {
			bytes += size(e.MessageBody)
		}
	case *sqs.ReceiveMessageInput:
		queue = in.QueueUrl
		if out, ok := result.(*sqs.ReceiveMessageOutput); ok {
			for _, m := range out.Messages {
				bytes += size(m.Body)
			}
		}
	case *sqs.DeleteMessageInput:
		queue = in.QueueUrl
	case *sqs.DeleteMessageBatchInput:
		queue = in.QueueUrl
	case *sqs.ChangeMessageVisibilityInput:
		queue = in.QueueUrl
	case *sqs.ChangeMessageVisibilityBatchInput:
		queue = in.QueueUrl
	}
	unit := "request"
	if queue != nil && strings.HasSuffix(*queue, ".fifo") {
		unit = "fifo_request"
	}
	return usage{unit, chunks(bytes)}
}

// publications returns the units of a request to SNS. A batch is billed as one request for each 64 KB of all its
// messages together. So publishing in batches is up to ten times cheaper
// (https://docs.aws.amazon.com/sns/latest/dg/sns-batch-api-actions.html).
func publications(parameters any) usage {
	bytes := 0
	switch in := parameters.(type) {
	case *sns.PublishInput:
		bytes = size(in.Message)
	case *sns.PublishBatchInput:
		for _, e := range in.PublishBatchRequestEntries {
			bytes += size(e.Message)
		}
	}
	return usage{"request", chunks(bytes)}
}

func size(s *string) int {
	if s == nil {
		return 0
	}
	return len(*s)
}

// withCapacity returns a copy of a request with ReturnConsumedCapacity TOTAL. If the request does not have this field,
// or the caller has set it, withCapacity returns the request itself.
func withCapacity(parameters any) any {
	const name = "ReturnConsumedCapacity"
	requested, hasField := fieldOf(parameters, name).(types.ReturnConsumedCapacity)
	if !hasField || requested != "" {
		return parameters
	}
	original := reflect.ValueOf(parameters).Elem()
	changed := reflect.New(original.Type())
	changed.Elem().Set(original)
	changed.Elem().FieldByName(name).Set(reflect.ValueOf(types.ReturnConsumedCapacityTotal))
	return changed.Interface()
}

// capacity returns the units in an answer of DynamoDB, or the zero usage if the answer has none.
func capacity(result any) usage {
	u := usage{unit: "read"}
	switch result.(type) {
	case *dynamodb.PutItemOutput, *dynamodb.UpdateItemOutput, *dynamodb.DeleteItemOutput, *dynamodb.BatchWriteItemOutput,
		*dynamodb.TransactWriteItemsOutput:
		u.unit = "write"
	}
	switch c := fieldOf(result, "ConsumedCapacity").(type) {
	case *types.ConsumedCapacity:
		if c == nil || c.CapacityUnits == nil {
			return usage{}
		}
		u.quantity = *c.CapacityUnits
	case []types.ConsumedCapacity:
		for _, each := range c {
			u.quantity += aws.ToFloat64(each.CapacityUnits)
		}
	default:
		return usage{}
	}
	return u
}

// fieldOf returns the field of the struct that p points to. It is nil if p is nil or has no such field.
func fieldOf(p any, name string) any {
	pointer := reflect.ValueOf(p)
	if pointer.Kind() != reflect.Pointer || pointer.IsNil() || pointer.Elem().Kind() != reflect.Struct {
		return nil
	}
	f := pointer.Elem().FieldByName(name)
	if !f.IsValid() {
		return nil
	}
	return f.Interface()
}

// usageOfFailed returns the smallest number of units that AWS can have billed for a failed call.
func usageOfFailed(parameters any, err error) usage {
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return usage{"write", 1}
	}
	if _, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		if in, ok := parameters.(*dynamodb.TransactWriteItemsInput); ok {
			return usage{"write", 2 * float64(len(in.TransactItems))}
		}
	}
	return usage{}
}
