package queue

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// errs creates the errors of this package. They carry a redacted text, which logs may contain.
const errs = redact.Class("missing")

// FIFO reports whether the name of a queue or topic says that it keeps the order of messages.
func FIFO(name string) bool { return strings.HasSuffix(name, ".fifo") }

// Missing reports whether err says that a queue, a topic or a bus does not exist.
func Missing(err error) bool { return err != nil && awserr.KindOf(err) == awserr.Missing }

// Create creates the queue in the client's account, and sets its URL. attributes are in addition to FifoQueue. The caller
// asks Own whether it is the one that was named.
func (p *Place) Create(ctx context.Context, client *sqs.Client, attributes map[string]string) error {
	in := &sqs.CreateQueueInput{QueueName: &p.Name, Attributes: map[string]string{}}
	for name, value := range attributes {
		in.Attributes[name] = value
	}
	if FIFO(p.Name) {
		in.Attributes["FifoQueue"] = "true"
	}
	out, err := client.CreateQueue(ctx, in, p.In)
	if err != nil {
		return err
	}
	switch {
	case p.URL != "":
		p.named = accountAndName(p.URL)
	case p.Account != "":
		p.named = p.Account + "/" + p.Name
	}
	p.URL = *out.QueueUrl
	return nil
}

// Own returns an error if Create has created another queue than the one that was named.
func (p *Place) Own() error {
	if p.named == "" {
		return nil
	}
	return Elsewhere(accountAndName(p.URL), p.named)
}

// accountAndName returns the end of a queue's URL.
func accountAndName(url string) string {
	parts := strings.Split(url, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

// Elsewhere returns an error if what was created is not what the file names: a service creates in the account of the
// credentials only.
func Elsewhere(created, named string) error {
	if created == named {
		return nil
	}
	return pipeline.Fatal(errs.Errorf("%s was created and not %s, because credentials create in their own account only: "+
		"name the first in the file, or create the second with credentials of its account",
		redact.Safe(created), redact.Safe(named)))
}

// The wait for what was created: SQS says that a queue takes a second until it can be used.
const (
	visibleTries = 15
	visiblePause = time.Second
)

// Ensure calls look, which finds a queue, a topic or a bus. If it is missing and may be created, Ensure calls create, and then
// look until it finds what was created.
func Ensure(ctx context.Context, mayCreate bool, look, create func(context.Context) error) error {
	err := look(ctx)
	if !mayCreate || !Missing(err) {
		return err
	}
	if err := create(ctx); err != nil {
		return err
	}
	return awaitVisible(ctx, look)
}

// awaitVisible calls look until it finds what was created, for at most 15 seconds.
func awaitVisible(ctx context.Context, look func(context.Context) error) error {
	err := look(ctx)
	for range visibleTries {
		if !Missing(err) {
			return err
		}
		if slept := pipeline.Sleep(ctx, visiblePause); slept != nil {
			return errors.Join(err, slept)
		}
		err = look(ctx)
	}
	return err
}
