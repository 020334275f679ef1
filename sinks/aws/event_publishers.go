package aws

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/notify"
	notifyaws "github.com/tablewake/tablewake/sinks/notify/aws"
	"github.com/tablewake/tablewake/sinks/state"
)

// Notify finds the sink's queue, topic or bus. With [Create] it creates a missing queue, topic or bus, even if the
// missing one was deleted after events were sent to it. No output depends on those events.
func (b *Bundle) Notify(ctx context.Context, cfg *config.Config, s config.Sink) (notify.Store, error) {
	large, err := b.overflow(cfg)
	if err != nil {
		return nil, err
	}
	store, err := b.publisher(ctx, s.Notify, large)
	if err != nil {
		return nil, err
	}
	if cfg.State == nil {
		return store, nil
	}
	db, err := b.stateDB(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return fingerprinted{store, db}, nil
}

func (b *Bundle) publisher(ctx context.Context, n *config.Notify, large notifyaws.Overflow) (notify.Store, error) {
	create := b.createMissing && !b.lookOnly
	switch {
	case n.Queue != "":
		return notifyaws.NewQueue(ctx, notifyaws.QueueOptions{Client: b.sqs, Queue: n.Queue, Overflow: large, Create: create})
	case n.Topic != "":
		client := sns.NewFromConfig(b.sdk, func(o *sns.Options) { o.RetryMaxAttempts = attempts })
		return notifyaws.NewTopic(ctx, notifyaws.TopicOptions{Client: client, Topic: n.Topic, Overflow: large,
			Create: create})
	case n.Bus != "":
		client := eventbridge.NewFromConfig(b.sdk, func(o *eventbridge.Options) { o.RetryMaxAttempts = attempts })
		return notifyaws.NewBus(ctx, notifyaws.BusOptions{Client: client, Bus: n.Bus, Overflow: large, Create: create})
	}
	return nil, errors.New("nothing is named that takes the events: add queue, topic or bus")
}

// fingerprinted is a publisher whose fingerprint is in the state table, because a queue cannot store a fingerprint.
type fingerprinted struct {
	notify.Store
	state.Fingerprints
}
