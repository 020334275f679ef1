package queue

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/redact"
)

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
// Ensure calls create. Then it calls find again until find succeeds.
func Ensure(ctx context.Context, mayCreate bool, find, create func(context.Context) error) error {
	err := find(ctx)
	if !mayCreate || !IsMissing(err) {
		return err
	}
	if err := create(ctx); err != nil {
		return err
	}
	return awaitVisible(ctx, find)
}

// awaitVisible calls find until its error no longer says that something is missing, for at most 15 seconds.
func awaitVisible(ctx context.Context, find func(context.Context) error) error {
	err := find(ctx)
	for range visibleTries {
		if !IsMissing(err) {
			return err
		}
		if stopped := pipeline.Sleep(ctx, visiblePause); stopped != nil {
			return errors.Join(err, stopped)
		}
		err = find(ctx)
	}
	return err
}
