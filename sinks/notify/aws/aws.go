// Package aws sends events to SQS, SNS and EventBridge, as CloudEvents in JSON.
//
// Events of one item are sent in order. No call contains two events of an item, and if an event fails, the later events
// of its item are not sent. A FIFO queue or topic keeps this order, with the item as the message group. It also drops
// an event that is sent again with the same id within five minutes. Any other target may deliver an event twice and out
// of order. The "sequence" of two events shows which one is later.
//
// If an event exceeds the message size, its data is stored in the [Overflow]. The event then has the member "dataref",
// which refers to the data. [notify.Resolve] puts the data back.
//
// Each message has its own error. Throttling and outages are transient, a refused message is a permanent error, and a
// missing or forbidden target stops the pipeline. Errors contain the error code of the service, and no data of the
// event.
//
// publisher.Publish makes the calls for all three targets. sending.takeBatch picks a batch, sending.prepare builds each
// body, and target.send makes the call. Read batch_publisher.go first.
package aws

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"strings"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/notify"
)

// errs makes the errors of this package. Their redacted text holds no data.
const errs = redact.Class("notify")

// Overflow stores event data that does not fit into a message.
//
// Put writes an immutable object, and blocks until it is durable. It returns the URI at which receivers find the
// object. Putting the same name and body again is not an error. The caller retries only errors that are marked by
// pipeline.Transient. It calls Put concurrently.
type Overflow interface {
	Put(ctx context.Context, name string, body []byte) (uri string, err error)
}

// group returns the message group of an item. It is a digest, because a group name has at most 128 characters of a
// limited alphabet.
func group(k item.Key) string {
	sum := sha256.Sum256([]byte(k))
	return hex.EncodeToString(sum[:])
}

// hints returns hints for the errors of a call, by the kind of the error. target names the target, for example "queue
// orders".
func hints(target, action string) map[awserr.Kind]string {
	return map[awserr.Kind]string{
		awserr.Denied: fmt.Sprintf(
			"check the credentials, and that they and the policy of the %s allow %s, and the use of its KMS key where it has one", target, action),
		awserr.Missing: fmt.Sprintf(
			"check name, Region and account of the %s, or make it with --create (`tablewake consume`, `backfill` and `replay`; in Go, aws.Create)", target),
	}
}

// regionOf returns the Region of an ARN; "" for other text.
func regionOf(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 || parts[0] != "arn" {
		return ""
	}
	return parts[3]
}

// stringType is the type of text attributes. SQS and SNS count its bytes in the message size, like the bytes of an
// attribute's name and value.
const stringType = "String"

// traceAttributes yields the message attributes of the trace context. Receivers use them to continue a trace without
// parsing the body.
func traceAttributes(m *notify.Message) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		if m.TraceParent != "" && !yield(notify.TraceParent, m.TraceParent) {
			return
		}
		if m.TraceState != "" {
			yield(notify.TraceState, m.TraceState)
		}
	}
}

// traceBytes returns the size of the message attributes of the trace context.
func traceBytes(m *notify.Message) (n int) {
	for name, value := range traceAttributes(m) {
		n += len(name) + len(stringType) + len(value)
	}
	return n
}
