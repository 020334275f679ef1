// Package queue is shared by all packages that write to SQS queues. It finds and creates queues. It also has the limits
// of one call, and the ids of the entries of a call.
package queue

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/redact"
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

// errs creates the errors of this package. They carry a redacted text, which logs may contain.
const errs = redact.Class("missing")

// IsFIFO reports whether a queue or topic keeps the order of messages. The names of such queues and topics end with
// .fifo.
func IsFIFO(name string) bool { return strings.HasSuffix(name, ".fifo") }

// IsMissing reports whether err says that a queue, a topic or a bus does not exist.
func IsMissing(err error) bool { return err != nil && awserr.KindOf(err) == awserr.Missing }

// Create creates the queue in the client's account, and sets its URL. It adds FifoQueue to attributes if the queue is a
// FIFO queue. The caller calls CheckAccount afterwards.
func (a *Address) Create(ctx context.Context, client *sqs.Client, attributes map[string]string) error {
	in := &sqs.CreateQueueInput{QueueName: &a.Name, Attributes: map[string]string{}}
	maps.Copy(in.Attributes, attributes)
	if IsFIFO(a.Name) {
		in.Attributes["FifoQueue"] = "true"
	}
	out, err := client.CreateQueue(ctx, in, a.InRegion)
	if err != nil {
		return err
	}
	switch {
	case a.URL != "":
		a.expected = accountAndName(a.URL)
	case a.Account != "":
		a.expected = a.Account + "/" + a.Name
	}
	a.URL = *out.QueueUrl
	return nil
}

// CheckAccount returns an error if Create created the queue in another account than the configuration names.
func (a *Address) CheckAccount() error {
	if a.expected == "" {
		return nil
	}
	return CheckCreated(accountAndName(a.URL), a.expected)
}

// accountAndName returns the end of a queue's URL: ACCOUNT/NAME.
func accountAndName(url string) string {
	parts := strings.Split(url, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

// CheckCreated returns an error if created differs from named, the queue or topic in the configuration. They differ if
// named is in another account, because a service creates only in the account of the credentials.
func CheckCreated(created, named string) error {
	if created == named {
		return nil
	}
	return pipeline.Fatal(errs.Errorf("%s was created and not %s, because credentials create in their own account only: "+
		"name the first in the file, or create the second with credentials of its account",
		redact.Safe(created), redact.Safe(named)))
}

// visibleTries and visiblePause limit the wait for a new queue, topic or bus. SQS documents that a new queue can be
// used after a second.
const (
	visibleTries = 15
	visiblePause = time.Second
)

// Ensure calls find, which finds a queue, a topic or a bus. If find reports that it is missing and mayCreate is set,
// Ensure calls create. Then it calls find again until it is no longer missing, for at most 15 seconds.
func Ensure(ctx context.Context, mayCreate bool, find, create func(context.Context) error) error {
	err := find(ctx)
	if !mayCreate || !IsMissing(err) {
		return err
	}
	if err := create(ctx); err != nil {
		return err
	}
	for range visibleTries {
		if err = find(ctx); !IsMissing(err) {
			return err
		}
		if stopped := pipeline.Sleep(ctx, visiblePause); stopped != nil {
			return errors.Join(err, stopped)
		}
	}
	return find(ctx)
}
