package query

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/archive"
	notifyaws "github.com/tablewake/tablewake/sinks/notify/aws"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// liveStores are the real stores of a configuration, opened read-only.
type liveStores struct {
	*target.Stores
	cfg *config.Config
}

// tables returns the view tables by name, each with a sink that writes to it.
func (l liveStores) tables() (names []string, writers map[string]config.Sink) {
	writers = make(map[string]config.Sink)
	for _, s := range l.cfg.Sinks {
		name := tableOf(s).Name
		_, isKnown := writers[name]
		if name != "" && !isKnown {
			names = append(names, name)
			writers[name] = s
		}
	}
	return names, writers
}

// tableOf returns the table of a view or an aggregate. For other sinks it returns the zero Table.
func tableOf(s config.Sink) view.Table {
	var name string
	var key []config.Column
	switch {
	case s.View != nil:
		name, key = s.View.Table.Name, s.View.Key
	case s.Aggregate != nil:
		name, key = s.Aggregate.Table.Name, s.Aggregate.Group
	default:
		return view.Table{}
	}
	t := view.Table{Name: name, PK: key[0].Name}
	if len(key) > 1 {
		t.SK = key[1].Name
	}
	return t
}

// openView opens the view table that args name, or the only view table if args are empty.
func (l liveStores) openView(ctx context.Context, args []string) (viewTable, error) {
	names, writers := l.tables()
	name, err := choose(args, names, l.cfg.File+" has no views and no aggregates", "view table",
		"name one of the view tables")
	if err != nil {
		return viewTable{}, err
	}
	sink := writers[name]
	var opened any
	if sink.View != nil {
		opened, err = l.View(ctx, l.cfg, sink)
	} else {
		opened, err = l.Aggregate(ctx, l.cfg, sink)
	}
	if err != nil {
		return viewTable{}, err
	}
	reader, err := asReader[view.Reader](opened, sink)
	if err != nil {
		return viewTable{}, err
	}
	return newViewTable(reader, tableOf(sink), l.fingerprints())
}

// asReader returns the opened store of a sink as a reader.
func asReader[Reader any](store any, sink config.Sink) (Reader, error) {
	reader, canRead := store.(Reader)
	if !canRead {
		return reader, fmt.Errorf("the store of the sink %s cannot be read", sink.Name)
	}
	return reader, nil
}

// fingerprints yields the settings of all sinks in the configuration, in the form in which stores keep them.
func (l liveStores) fingerprints() iter.Seq2[state.Fingerprint, error] {
	return func(yield func(state.Fingerprint, error) bool) {
		for _, s := range l.cfg.Sinks {
			if !yield(state.Fingerprint{Pipeline: l.cfg.Name, Sink: s.Name, Settings: s.Settings}, nil) {
				return
			}
		}
	}
}

// openSearch returns a reader of the sink that writes to index. It asks each search sink for its indexes, because a
// sink can write to several.
func (l liveStores) openSearch(ctx context.Context, index string) (search.Reader, error) {
	var existing []string
	for _, s := range l.cfg.Sinks {
		if s.Search == nil {
			continue
		}
		store, err := l.Search(ctx, l.cfg, s)
		if err != nil {
			return nil, err
		}
		reader, err := asReader[search.Reader](store, s)
		if err != nil {
			return nil, err
		}
		names, err := reader.Indexes(ctx)
		if err != nil {
			return nil, err
		}
		if slices.Contains(names, index) {
			return reader, nil
		}
		existing = append(existing, names...)
	}
	if len(existing) == 0 {
		return nil, fmt.Errorf("there is no index yet: %s has no search sink, or it has written nothing", l.cfg.File)
	}
	slices.Sort(existing)
	return nil, cli.UnknownName(fmt.Sprintf("no index %q", index), index, slices.Compact(existing))
}

// openArchive opens the archive in the bucket that args name, or in the only bucket if args are empty.
func (l liveStores) openArchive(ctx context.Context, args []string) (archive.Lister, error) {
	var buckets []string
	writers := make(map[string]config.Sink)
	for _, s := range l.cfg.Sinks {
		if s.Archive == nil {
			continue
		}
		bucket := s.Archive.Bucket
		if _, isKnown := writers[bucket]; !isKnown {
			buckets = append(buckets, bucket)
			writers[bucket] = s
		}
	}
	bucket, err := choose(args, buckets, l.cfg.File+" has no archives", "bucket", "name one bucket")
	if err != nil {
		return nil, err
	}
	store, err := l.Archive(ctx, l.cfg, writers[bucket])
	if err != nil {
		return nil, err
	}
	return asReader[archive.Lister](store, writers[bucket])
}

// queueCount has the numbers of messages in a queue. SQS counts them approximately.
type queueCount struct {
	Sink     string `json:"sink"`
	Queue    string `json:"queue"`
	Messages string `json:"messages_approximately"`
	InFlight string `json:"received_approximately"` // messages that are received and not deleted
}

func (c queueCount) String() string {
	return fmt.Sprintf("%s  queue %s: about %s messages wait, and %s are received and not deleted", c.Sink, c.Queue,
		c.Messages, c.InFlight)
}

// showQueues prints the number of waiting messages in the queue of the notify sink that args name. If args are empty,
// it prints the numbers of all queues.
func (l liveStores) showQueues(ctx context.Context, args []string, out *cli.Results) error {
	names, err := l.queueSinks(args)
	if err != nil {
		return err
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return err
	}
	client := sqs.NewFromConfig(sdk)
	for _, name := range names {
		sink, _ := l.cfg.Sink(name)
		c, err := countQueue(ctx, client, sink)
		if err != nil {
			return err
		}
		if err := out.Add(c, c.String); err != nil {
			return err
		}
	}
	return nil
}

// countQueue counts the messages in the queue of a notify sink.
func countQueue(ctx context.Context, client *sqs.Client, s config.Sink) (queueCount, error) {
	q, err := notifyaws.NewQueue(ctx, notifyaws.QueueOptions{Client: client, Queue: s.Notify.Queue})
	if err != nil {
		return queueCount{}, err
	}
	n, err := q.Waiting(ctx)
	return queueCount{Sink: s.Name, Queue: s.Notify.Queue, Messages: n.Visible, InFlight: n.InFlight}, err
}

// queueSinks returns the name in args, which must be the name of a notify sink with a queue. If args are empty, it
// returns the names of all such sinks.
func (l liveStores) queueSinks(args []string) ([]string, error) {
	var names []string
	for _, s := range l.cfg.Sinks {
		if s.Notify != nil && s.Notify.Queue != "" {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no notify sink with a queue; a topic and a bus keep no events", l.cfg.File)
	}
	if len(args) == 0 {
		return names, nil
	}
	name, err := choose(args, names, "", "sink with a queue", "")
	return []string{name}, err
}
