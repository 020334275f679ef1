package pipeline_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// packing is a sink whose batches are packed. It keeps the changes that WriteSorted gets.
type packing struct {
	pipeline.Sink
	got []*record.Change
}

var _ pipeline.SortedWriter = (*packing)(nil)

func (*packing) KeepsKeyOrder() bool { return true }
func (*packing) Guarded() bool       { return true }
func (*packing) IgnoresEvents() bool { return true }

func (s *packing) WriteSorted(_ context.Context, all iter.Seq2[*pipeline.Delivery, error]) (int, error) {
	for d, err := range all {
		if err != nil {
			return 0, err
		}
		s.got = append(s.got, d.Change)
	}
	return 0, nil
}

// An unpacked change equals the change that was packed, whatever the change holds.
func TestPacked_ChangesAreTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := pipelinetest.DynamoJSON{T: t}
		d := record.NewDecoder(record.DecoderOptions{EpochZero: true, DynamoDBLocal: true})
		record := g.Event(1)
		if rapid.Bool().Draw(t, "snapshot") {
			record = pipelinetest.TTLDelete
		}
		page, err := d.Decode([]byte(record))
		if err != nil || len(page.Changes) != 1 {
			t.Fatal(err, page)
		}
		want := page.Changes[0].Clone()
		if rapid.Bool().Draw(t, "apart") { // some sources have changes without a stream record
			page.Changes[0].Raw = []byte(`{"Item":1}`)
			want.Raw = page.Changes[0].Raw
		}
		s := &packing{Sink: pipeline.SinkFunc(func(context.Context, []pipeline.Delivery) error {
			return io.ErrUnexpectedEOF
		})}
		p, err := pipeline.New(pipeline.Options{
			Name: "packed", MaxChanges: 1, DeadLetters: noLetters{t},
			Routes: []pipeline.Route{{Name: "s", Sink: s, Batch: pipeline.Batch{Fill: true}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		left := []*pipeline.Page{{Page: *page, Partition: "p"}}
		err = p.Run(context.Background(), pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
			if len(left) == 0 {
				return nil, io.EOF
			}
			page := left[0]
			left = left[1:]
			return page, nil
		}), nil)
		if err != nil || len(s.got) != 1 {
			t.Fatalf("%d changes are written, %v", len(s.got), err)
		}
		got := s.got[0]
		if what := pipelinetest.ChangeDifference(got, want); what != "" || !bytes.Equal(got.Raw, want.Raw) || got.Index != want.Index {
			t.Fatalf("%s differs after packing: %s", what, want.Raw)
		}
		for _, images := range [][2]item.Image{{got.Old, want.Old}, {got.New, want.New}, {got.Keys, want.Keys}} {
			if a, b := images[0].AppendDynamoDBJSON(nil), images[1].AppendDynamoDBJSON(nil); !bytes.Equal(a, b) {
				t.Fatalf("an image became %s of %s", a, b)
			}
		}
	})
}

// noLetters is a dead letter store that fails the test on a Put.
type noLetters struct{ t *rapid.T }

func (n noLetters) Put(_ context.Context, letters []pipeline.DeadLetter) error {
	n.t.Errorf("given up: %v", letters[0].Error)
	return nil
}
