package pipeline

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
)

// withBad adds an undecodable record to a page.
func withBad(p *Page) *Page {
	p.Errors = append(p.Errors, &record.RecordError{
		Index: len(p.Changes), Offset: 40, Path: "dynamodb.NewImage.Total", Key: "a", Sequence: "7",
		Raw: []byte(`{"bad":1}`), Err: errors.New("N holds no number"),
	})
	return p
}

func TestUndecodable_LetterIsDurableBeforeWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		start := time.Now()
		up := start.Add(time.Hour)
		g := &graveyard{fail: func() error {
			if time.Now().Before(up) {
				return errDown
			}
			return nil
		}}
		at := map[string]time.Duration{}
		s := &recorder{fail: func(_ context.Context, ds []Delivery) error {
			for _, d := range ds {
				at[string(d.Change.Key)+d.Change.Sequence] = time.Since(start)
			}
			return nil
		}}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters = g; o.Routes[0].Concurrency = 1 })
		var c commits
		err := p.Run(t.Context(), pages(nil,
			pageOf(n, "p", 1, "a"), withBad(pageOf(n, "p", 2, "b")), pageOf(n, "p", 3, "a"), pageOf(n, "q", 1, "c")), &c)
		if err != nil {
			t.Fatal(err)
		}
		if at["a1"] != 0 || at["c1"] != 0 {
			t.Errorf("what is before it, or in another partition, waited: %v", at)
		}
		if at["b1"] < time.Hour || at["a2"] < time.Hour {
			t.Errorf("the rest of the partition did not wait for its letter: %v", at)
		}
		if len(g.letters) != 1 {
			t.Fatalf("letters %+v", g.letters)
		}
		l := g.letters[0]
		if l.Class != "undecodable" || l.Sink != "" || l.Key != "a" || l.Sequence != "7" || l.Partition != "p" || l.Index != 1 || string(l.Raw) != `{"bad":1}` {
			t.Errorf("letter %+v", l)
		}
		src := p.Ledger().Source
		if src.Read != 5 || src.Undecodable != 1 || src.Routed != 4 {
			t.Errorf("ledger %+v", src)
		}
		if c.at("p") != "3" || c.at("q") != "1" {
			t.Errorf("committed %v", c.last)
		}
	})
}

func TestUndecodable_WithoutDeadLettersThePartitionBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		s := &recorder{}
		p := newPipeline(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var c commits
		err := p.Run(ctx, endless(pageOf(n, "p", 1, "a"), withBad(pageOf(n, "p", 2, "b")), pageOf(n, "p", 3, "a"), pageOf(n, "q", 1, "c")), &c)
		if _, ok := errors.AsType[*StopError](err); !ok {
			t.Errorf("Run returned %v", err)
		}
		got := s.all()
		slices.Sort(got)
		if !slices.Equal(got, []string{"a1", "c1"}) || c.at("p") != "1" || c.at("q") != "1" {
			t.Errorf("written %v, committed %v", got, c.last)
		}
	})
}

func TestUndecodable_OnlyBadRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &graveyard{}
		p := newPipeline(t, &recorder{}, func(o *Options) { o.DeadLetters = g })
		var c commits
		page := &Page{Partition: "p", Position: "1", Page: record.Page{Bytes: 9}, Decode: func() (*record.Page, error) {
			return &withBad(withBad(&Page{Page: record.Page{Duplicates: 2}})).Page, nil
		}}
		if err := p.Run(t.Context(), pages(nil, page), &c); err != nil {
			t.Fatal(err)
		}
		src := p.Ledger().Source
		if src.Read != 4 || src.Undecodable != 2 || src.Duplicate != 2 || len(g.letters) != 2 || c.at("p") != "1" {
			t.Errorf("ledger %+v, %d letters, committed %q", src, len(g.letters), c.at("p"))
		}
		if err := p.Ledger().Check(); err != nil {
			t.Error(err)
		}
	})
}
