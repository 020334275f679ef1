package handlers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// dropping is a stream that drops records while it is read.
type dropping struct {
	*streamtest.Server
	before map[int]func() // what happens before which call of GetRecords, from 1 on
	calls  int
}

// GetRecords reads what is left.
func (d *dropping) GetRecords(ctx context.Context, q shardreader.RecordsQuery) (record.GetRecordsPage, error) {
	d.calls++
	if f := d.before[d.calls]; f != nil {
		f()
	}
	return d.Server.GetRecords(ctx, q)
}

// Each time that the stream drops what comes next, that is a gap of its own: none is forgotten
// for another, and none covers what was fetched.
func TestOnFailure_GapAfterGap(t *testing.T) {
	keys := strings.Fields("a b c d e f g h")
	for name, tt := range map[string]struct {
		size    int
		before  func(st *streamtest.Stream, shard string) map[int]func() // the first page is d, c is gone
		written string
		want    []string // FROM BEHIND RECORDS: from that key on (or the place after it, x+) up to another key's record
	}{
		"twice": {size: 4, before: func(st *streamtest.Stream, shard string) map[int]func() {
			return map[int]func(){2: func() { st.Trim(shard, 2) }}
		}, written: "d f", want: []string{"c d 1", "d+ f 1"}},
		"the end is missing too": {size: 4, before: func(st *streamtest.Stream, shard string) map[int]func() {
			return map[int]func(){2: func() { st.Rollover(shard); st.Trim(shard, 5) }}
		}, written: "d", want: []string{"c d 1", "d+ f+ 2"}},
		"the shard goes": {size: 4, before: func(st *streamtest.Stream, shard string) map[int]func() {
			return map[int]func(){2: func() { st.Rollover(shard); st.Drop(shard) }}
		}, written: "d", want: []string{"c d 1", "d+ f+ 2"}},
		"what was read goes": {size: 13, before: func(st *streamtest.Stream, shard string) map[int]func() {
			return map[int]func(){2: func() { st.Trim(shard, 1) }, 3: func() { st.Rollover(shard); st.Drop(shard) }}
		}, written: "d e", want: []string{"c d 5", "e+ f+ 6"}},
		"fewer than gaps": {size: 1, before: func(st *streamtest.Stream, shard string) map[int]func() {
			return map[int]func(){2: func() { st.Trim(shard, 2) }}
		}, written: "d f", want: []string{"c d 1", "d+ f 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, st, shard, seqs := stream(t, streamtest.Options{PageRecords: 1}, keys...)
				st.Trim(shard, 3)
				s, log := &store{}, &said{}
				var got, logged, want []string
				noted := pipeline.GapFunc(func(_ context.Context, g record.Gap) error {
					got = append(got, g.After+" "+g.Before)
					return nil
				})
				h := OnFailure(assemble(t, s, nil), WithStreams(&dropping{Server: server, before: tt.before(st, shard)}), WithGaps(noted), log.option())
				answer, err := h.Invoke(within(t, time.Minute), []byte(messages(given(st.ARN(), shard, seqs[2], seqs[5], tt.size))))
				if err != nil || failures(t, answer) != "" || s.keys() != tt.written {
					t.Errorf("%s, %v, written %q; want %q", answer, err, s.keys(), tt.written)
				}
				at := func(place string) string {
					sequence := seqs[place[0]-'a']
					if strings.HasSuffix(place, "+") {
						return addToSequence(sequence, 1)
					}
					return sequence
				}
				for _, w := range tt.want {
					part := strings.Fields(w)
					first, last := at(part[0]), addToSequence(at(part[1]), -1)
					want = append(want, addToSequence(first, -1)+" "+addToSequence(last, 1))
					logged = append(logged, fmt.Sprintf("first=%s last=%s records_about=%s ", first, last, part[2]))
				}
				if strings.Join(got, ", ") != strings.Join(want, ", ") {
					t.Errorf("gaps\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if n := strings.Count(log.String(), "records_about="); n != len(want) {
					t.Errorf("%d gaps are logged: %s", n, log)
				}
				for _, line := range logged {
					if !strings.Contains(log.String(), line) {
						t.Errorf("logged: %s; want %s", log, line)
					}
				}
			})
		})
	}
}

// The records of a batch keep the order of their shard, also where the stream has lost those in the middle and at the
// end, and the event has them.
func TestFillFromEvent_KeepsTheOrder(t *testing.T) {
	page := func(sequences ...int) *record.Page {
		var lines []byte
		for _, s := range sequences {
			lines = fmt.Appendf(lines, `{"eventID":"%d","eventName":"INSERT","dynamodb":{"SequenceNumber":"%d","Keys":{"PK":{"S":"a"}},"NewImage":{"PK":{"S":"a"}}}}`+"\n", s, s)
		}
		decoded := record.NewDecoder(record.DecoderOptions{EpochZero: true, Table: "shop"}).DecodeLines(lines)
		if decoded.Len() != len(sequences) || len(decoded.Errors) > 0 {
			t.Fatalf("%d records, errors %v", decoded.Len(), decoded.Errors)
		}
		return decoded
	}
	f := &rangeFetch{
		info:         &batchInfo{First: "101", Last: "109", ShardID: "shard", Size: 9},
		lastSequence: "106", restIsLost: true,
		lostRanges: []sequenceRange{{"101", "101"}, {"103", "105"}},
	}
	for _, fetched := range []int{102, 106} {
		f.records.add("shard", page(fetched))
		f.fetched++
	}
	event := &eventRecords{}
	event.add("shard", page(101, 102, 103))
	event.add("shard", page(104, 106, 107, 108))
	f.fillFromEvent(event)
	var got []string
	for _, p := range f.records.pages {
		for r := range p.Records() {
			got = append(got, r.Sequence)
		}
	}
	if want := "101 102 103 104 106 107 108"; strings.Join(got, " ") != want || f.fetched != 7 {
		t.Errorf("%d records: %v, want %s", f.fetched, got, want)
	}
}
