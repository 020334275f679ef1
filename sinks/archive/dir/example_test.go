package dir_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/dir"
)

// Two changes are written twice to an archive, and each of them is read once.
func Example() {
	path, err := os.MkdirTemp("", "archive-")
	if err == nil {
		err = errors.Join(archiveTwice(context.Background(), path), os.RemoveAll(path))
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// o1 INSERT {"PK":"o1","Status":"paid"}
	// o1 MODIFY {"PK":"o1","Status":"shipped"}
}

func archiveTwice(ctx context.Context, path string) error {
	store, err := dir.New(dir.Options{Dir: path})
	if err != nil {
		return err
	}
	sink, err := archive.New(archive.Options{Store: store, Prefix: "changes/"})
	if err != nil {
		return err
	}
	records := record.NewDecoder(record.DecoderOptions{EpochZero: true}).DecodeLines([]byte(
		`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"PK":{"S":"o1"}},"NewImage":{"PK":{"S":"o1"},"Status":{"S":"paid"}}}}
{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"2","Keys":{"PK":{"S":"o1"}},"NewImage":{"PK":{"S":"o1"},"Status":{"S":"shipped"}}}}
`))
	// A pipeline does the same: It writes both changes in one batch. Then they are delivered again, one by one.
	for _, batch := range [][]record.Change{records.Changes, records.Changes[:1], records.Changes[1:]} {
		ds := make([]pipeline.Delivery, len(batch))
		for i := range batch {
			ds[i].Change = &batch[i]
			if err := sink.Plan(&ds[i]); err != nil {
				return err
			}
		}
		if err := sink.Write(ctx, ds); err != nil {
			return err
		}
	}

	for e, err := range archive.Read(ctx, store, archive.ReadOptions{}) {
		if err != nil {
			return err
		}
		fmt.Printf("%s %s %s\n", e.Key, e.Change.Op, e.Change.New.AppendJSON(nil))
	}
	return nil
}
