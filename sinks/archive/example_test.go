package archive_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/dir"
)

// An order is paid, and shipped on the next day.
const twoDays = `
{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","ApproximateCreationDateTime":1767312000,
 "Keys":{"PK":{"S":"o1"}},"NewImage":{"PK":{"S":"o1"},"Status":{"S":"paid"}}}}
{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"2","ApproximateCreationDateTime":1767398400,
 "Keys":{"PK":{"S":"o1"}},"NewImage":{"PK":{"S":"o1"},"Status":{"S":"shipped"}}}}
`

// A pipeline archives the changes of each day in a folder of its own.
func Example() {
	folder, err := os.MkdirTemp("", "archive-")
	if err == nil {
		err = errors.Join(archiveDays(context.Background(), folder), os.RemoveAll(folder))
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// changes/dt=2026-01-02
	// changes/dt=2026-01-03
	// o1 INSERT {"PK":"o1","Status":"paid"}
	// o1 MODIFY {"PK":"o1","Status":"shipped"}
}

func archiveDays(ctx context.Context, folder string) error {
	store, err := dir.New(dir.Options{Dir: folder})
	if err != nil {
		return err
	}
	day, err := template.Parse("dt={@time|date:2006-01-02}", template.Options{})
	if err != nil {
		return err
	}
	sink, err := archive.New(archive.Options{Store: store, Prefix: "changes/", Partition: day})
	if err != nil {
		return err
	}
	p, err := pipeline.New(pipeline.Options{Name: "shop", Routes: []pipeline.Route{
		{Name: "history", Sink: sink, Batch: sink.Batch(), Concurrency: sink.Concurrency()},
	}})
	if err != nil {
		return err
	}
	source, err := replay.Open(replay.Options{
		Paths: []string{"-"}, Stdin: strings.NewReader(twoDays), Decoder: record.DecoderOptions{Table: "shop", EpochZero: true},
	})
	if err != nil {
		return err
	}
	if err := errors.Join(p.Run(ctx, source, nil), source.Close()); err != nil {
		return err
	}

	for object, err := range store.List(ctx, "changes/") {
		if err != nil {
			return err
		}
		fmt.Println(path.Dir(object.Name))
	}
	for e, err := range archive.Read(ctx, store, archive.ReadOptions{Prefix: "changes/"}) {
		if err != nil {
			return err
		}
		fmt.Println(e.Key, e.Change.Op, string(e.Change.New.AppendJSON(nil)))
	}
	return nil
}
