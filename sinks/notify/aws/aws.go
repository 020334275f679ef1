// Package aws sends events to SQS, SNS and EventBridge, as CloudEvents in JSON.
//
// Events of one item are sent in their order: no call holds two of them, and behind
// one that fails the later ones are not sent. A FIFO queue or topic keeps that order, with
// the item as the message group, and drops an event that comes again within five
// minutes by its id; elsewhere an event may arrive twice and out of order, and its "sequence"
// tells which is later.
//
// An event that is larger than a message may be refers to its data by "dataref", where
// there is an [Overflow]; [notify.Resolve] makes it whole again.
//
// What the service does not take is an error by message: throttled and unavailable
// are tried again, refused is permanent, and a place that is missing or forbidden stops
// the pipeline. The errors show the service's code and nothing of the event.
package aws

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Overflow keeps what is too large for a message.
//
// Put writes an immutable object and blocks until it is durable; it answers the
// URI that whoever receives the event finds it at. The same name comes again with the
// same body, which is no error. What is not marked by pipeline.Transient is not
// tried again. Put is called concurrently.
type Overflow interface {
	Put(ctx context.Context, name string, body []byte) (uri string, err error)
}

// group is the message group of an item: keys may be longer than the 128 characters
// of a group's name, and hold what it may not.
func group(k item.Key) string {
	sum := sha256.Sum256([]byte(k))
	return hex.EncodeToString(sum[:])
}

// hints say what to do about a failure of op.
func hints(place, action string) map[awserr.Kind]string {
	return map[awserr.Kind]string{
		awserr.Denied:  fmt.Sprintf("check the credentials, and that they and the policy of the %s allow %s, and the use of its KMS key where it has one", place, action),
		awserr.Missing: fmt.Sprintf("check name, Region and account of the %s; it is never made by the pipeline", place),
	}
}

// regionOf is the Region that an ARN names, "" of anything else.
func regionOf(arn string) string {
	if p := strings.SplitN(arn, ":", 6); len(p) == 6 && p[0] == "arn" {
		return p[3]
	}
	return ""
}
