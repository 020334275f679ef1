package main

import (
	"context"
	"reflect"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/sdk"
)

// diffRows measure finding the attributes that differ between both images of decoded records.
func diffRows() []row {
	r := row{
		id:   "diff",
		work: "name the attributes that differ between two decoded images, four of thirteen",
		peer: "reflect.DeepEqual of the SDK's values",
		of:   rate, least: 30, allocs: new(0.0), input: true,
		note: "one of the four differs inside a map; the peer goes attribute by attribute",
		open: func(ctx context.Context, b *bench) (*contest, error) {
			if b.input != nil {
				return openDiff(ctx, b, b.input)
			}
			return openDiff(ctx, b, four())
		},
	}
	beside := r
	beside.variant, beside.least, beside.allocs, beside.input = "one changed", 0, nil, false
	beside.work, beside.note = "name the attributes that differ between two decoded images, one of thirteen", ""
	beside.open = func(ctx context.Context, b *bench) (*contest, error) { return openDiff(ctx, b, usual()) }
	return []row{r, beside}
}

// diffTally counts the attributes that differ, and the bytes of their names.
type diffTally struct{ attributes, names int }

func (t *diffTally) add(name string) {
	t.attributes++
	t.names += len(name)
}

func openDiff(ctx context.Context, b *bench, s *shape) (*contest, error) {
	bodies, _ := s.pages(1)
	page, err := ourPage(ctx, sdk.New(streamsClient(answer(bodies)), record.DecoderOptions{}))
	if err != nil {
		return nil, err
	}
	records, err := sdkPage(ctx, streamsClient(answer(bodies)))
	if err != nil {
		return nil, err
	}
	ours := func(context.Context) (t diffTally, err error) {
		for i := range page.Changes {
			c := &page.Changes[i]
			for name := range item.Differences(c.Old, c.New) {
				t.add(name)
			}
		}
		return t, nil
	}
	theirs := func(context.Context) (t diffTally, err error) {
		for i := range records {
			old, now := records[i].Dynamodb.OldImage, records[i].Dynamodb.NewImage
			for name, value := range now {
				before, wasThere := old[name]
				isSame := wasThere && reflect.DeepEqual(before, value)
				if !isSame && !strings.HasPrefix(name, "aws:rep:") {
					t.add(name)
				}
			}
			for name := range old {
				_, isThere := now[name]
				if !isThere && !strings.HasPrefix(name, "aws:rep:") {
					t.add(name)
				}
			}
		}
		return t, nil
	}
	return agree(ctx, b, len(records), ours, theirs)
}
