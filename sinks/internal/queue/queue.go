// Package queue has what all who write to SQS queues need: where a queue is, what it takes, and the entries of a call.
package queue

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Place is what the name of a queue says.
type Place struct {
	Name    string
	URL     string // "" until Find has asked for it
	Region  string // "" where it is the client's
	Account string // "" where it is the client's
}

// PlaceOf reads a queue's URL, ARN or name. A URL is
// https://sqs.REGION.amazonaws.com/ACCOUNT/NAME; a host that is not of AWS says
// nothing of a Region.
func PlaceOf(queue string) Place {
	if p := strings.SplitN(queue, ":", 6); len(p) == 6 && p[0] == "arn" {
		return Place{Name: p[5], Region: p[3], Account: p[4]}
	}
	u, err := url.Parse(queue)
	if err != nil || u.Host == "" {
		return Place{Name: queue}
	}
	place := Place{Name: queue[strings.LastIndexByte(queue, '/')+1:], URL: queue}
	host := strings.Split(u.Hostname(), ".")
	if !strings.Contains(u.Hostname(), ".amazonaws.") && !strings.HasSuffix(u.Hostname(), ".api.aws") {
		return place
	}
	for i, l := range host[:len(host)-1] {
		switch {
		case l == "sqs" || l == "sqs-fips":
			place.Region = host[i+1]
		case l == "queue" && i == 1: // the older form
			place.Region = host[0]
		}
	}
	return place
}

// Find asks for the URL of the queue if its name does not say it.
func (p *Place) Find(ctx context.Context, client *sqs.Client) error {
	if p.URL != "" {
		return nil
	}
	in := &sqs.GetQueueUrlInput{QueueName: &p.Name}
	if p.Account != "" {
		in.QueueOwnerAWSAccountId = &p.Account
	}
	out, err := client.GetQueueUrl(ctx, in, p.In)
	if err == nil {
		p.URL = *out.QueueUrl
	}
	return err
}

// In is an option of calls: they go to the Region of the queue.
func (p *Place) In(o *sqs.Options) {
	if p.Region != "" {
		o.Region = p.Region
	}
}

// MaximumMessageSize is the attribute of queues and topics that says what they take.
const MaximumMessageSize = "MaximumMessageSize"

// DefaultMaxBytes is what every queue, topic and bus took in one call before the
// quotas became 1 MiB, and what they take today unless they were set to take less.
const DefaultMaxBytes = 256 << 10

// MaxBytes is what the attributes of a queue or topic say that it takes.
func MaxBytes(attributes map[string]string) int {
	if n, err := strconv.Atoi(attributes[MaximumMessageSize]); err == nil && n > 0 {
		return n
	}
	return DefaultMaxBytes
}

// Entries is how many messages one call takes, of a queue, a topic or a bus.
const Entries = 10

// EntryID names an entry of a call by its place.
func EntryID(i int) string { return "e" + strconv.Itoa(i) }

// EntryOf is the place again, -1 of any other name.
func EntryOf(id *string) int {
	if id == nil || len(*id) != 2 || (*id)[0] != 'e' {
		return -1
	}
	return int((*id)[1]) - '0'
}
