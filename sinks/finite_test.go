package sinks_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
)

// objectNames is an archive store that records the names of its objects.
type objectNames struct {
	sinks.Stores
	put []string
}

func (n *objectNames) Archive(context.Context, *config.Config, config.Sink) (archive.Store, error) {
	return n, nil
}

func (n *objectNames) Put(_ context.Context, o archive.Object) error {
	n.put = append(n.put, o.Name)
	return nil
}

func (n *objectNames) Get(context.Context, string) (io.ReadCloser, error) {
	return nil, archive.ErrNoObject
}

// If a source is slower than the roll age of the archive, the archive writes an object after each roll age. With
// Finite, only the input decides where objects end.
func TestFinite_CutsByInputAlone(t *testing.T) {
	cfg, err := config.Parse("tablewake.yaml", []byte(`
version: 1
name: shop
source: {table: shop}
sinks:
  history:
    archive: {bucket: history, roll: {age: 5m}}
`), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		opts []sinks.Option
		want int
	}{
		{"by time", nil, 3},
		{"by input", []sinks.Option{sinks.Finite()}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stores := &objectNames{Stores: sinks.PlanOnly()}
				p, err := sinks.Assemble(t.Context(), cfg, stores, c.opts...)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Run(t.Context(), hourly(3), nil); err != nil {
					t.Fatal(err)
				}
				if len(stores.put) != c.want {
					t.Errorf("%d objects, want %d: %v", len(stores.put), c.want, stores.put)
				}
			})
		})
	}
}

// hourly returns a source of n pages with one record each, with an hour before each page.
func hourly(n int) pipeline.Source {
	dec := record.NewDecoder(record.DecoderOptions{EpochZero: true})
	return pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if n == 0 {
			return nil, io.EOF
		}
		time.Sleep(time.Hour)
		n--
		page, err := dec.Decode(fmt.Appendf(nil, `{"eventID":"%d","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"%d"}},"NewImage":{"PK":{"S":"%d"}},"SequenceNumber":"10000000000000000000%d","StreamViewType":"NEW_AND_OLD_IMAGES"}}`, n, n, n, n))
		if err != nil {
			return nil, err
		}
		return &pipeline.Page{Page: *page, Partition: "p", Position: pipeline.Position(fmt.Sprint(n))}, nil
	})
}
