// Package queue is shared by all packages that write to SQS queues. It finds and creates queues. It also has the limits
// of one call, and the ids of the entries of a call.
package queue

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Address identifies a queue. It holds the parts of the queue's name, ARN or URL.
type Address struct {
	Name    string
	URL     string // "" until Find has read it
	Region  string // "" for the client's Region
	Account string // "" for the client's account

	// expected is the "ACCOUNT/NAME" that the configuration names, or "" if it names no account. CheckAccount compares
	// it with the queue that Create created
	expected string
}

// ParseAddress parses a queue's URL, ARN or name. A URL is https://sqs.REGION.amazonaws.com/ACCOUNT/NAME. If the host
// of a URL does not belong to AWS, the Region is "".
func ParseAddress(queue string) Address {
	if parts := strings.SplitN(queue, ":", 6); len(parts) == 6 && parts[0] == "arn" {
		return Address{Name: parts[5], Region: parts[3], Account: parts[4]}
	}
	u, err := url.Parse(queue)
	if err != nil || u.Host == "" {
		return Address{Name: queue}
	}
	return Address{Name: queue[strings.LastIndexByte(queue, '/')+1:], URL: queue, Region: regionOfHost(u.Hostname())}
}

// regionOfHost returns the Region in the host of a queue's URL; "" if the host does not belong to AWS.
func regionOfHost(host string) (region string) {
	if !strings.Contains(host, ".amazonaws.") && !strings.HasSuffix(host, ".api.aws") {
		return ""
	}
	labels := strings.Split(host, ".")
	for i, label := range labels[:len(labels)-1] {
		switch {
		case label == "sqs" || label == "sqs-fips":
			region = labels[i+1]
		case label == "queue" && i == 1: // the older form of the host: REGION.queue.amazonaws.com
			region = labels[0]
		}
	}
	return region
}

// Find reads the URL of the queue from the server, unless it is known.
func (a *Address) Find(ctx context.Context, client *sqs.Client) error {
	if a.URL != "" {
		return nil
	}
	in := &sqs.GetQueueUrlInput{QueueName: &a.Name}
	if a.Account != "" {
		in.QueueOwnerAWSAccountId = &a.Account
	}
	out, err := client.GetQueueUrl(ctx, in, a.InRegion)
	if err == nil {
		a.URL = *out.QueueUrl
	}
	return err
}

// InRegion is an option of SQS calls. It sends them to the Region of the queue.
func (a *Address) InRegion(o *sqs.Options) {
	if a.Region != "" {
		o.Region = a.Region
	}
}

// MaximumMessageSize is the attribute of queues and topics with the maximum size of a message.
const MaximumMessageSize = "MaximumMessageSize"

// DefaultMaxBytes is the number of bytes that every queue, topic and bus accepts in one call, unless it is configured
// to accept less. It was the quota before AWS raised the quota to 1 MiB.
const DefaultMaxBytes = 256 << 10

// MaxBytes returns the maximum message size from the attributes of a queue or topic.
func MaxBytes(attributes map[string]string) int {
	if n, err := strconv.Atoi(attributes[MaximumMessageSize]); err == nil && n > 0 {
		return n
	}
	return DefaultMaxBytes
}

// MaxEntries is the maximum number of messages in one call to a queue, a topic or a bus.
const MaxEntries = 10

// EntryID returns the id of the entry with index i of a call.
func EntryID(i int) string { return "e" + strconv.Itoa(i) }

// EntryIndex returns the index in an id that EntryID made, or -1 for any other id.
func EntryIndex(id *string) int {
	if id == nil || len(*id) != 2 || (*id)[0] != 'e' {
		return -1
	}
	return int((*id)[1]) - '0'
}
