package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// lost keeps gaps as text.
type lost struct {
	gaps []string
	fail error
}

// AddGap notes the gap.
func (l *lost) AddGap(_ context.Context, g record.Gap) error {
	if l.fail != nil {
		return l.fail
	}
	l.gaps = append(l.gaps, fmt.Sprintf("%s: behind %s before %s, %s to %s",
		g.Shard, short(g.After), short(g.Before), g.From.Format(time.TimeOnly), g.To.Format(time.TimeOnly)))
	if g.StreamARN == "" {
		l.gaps = append(l.gaps, "no stream")
	}
	return nil
}

// short returns the last three digits of a sequence number.
func short(sequence string) string { return sequence[max(0, len(sequence)-3):] }

// messages returns an event of SQS. The bodies become the messages m1, m2, ...
func messages(bodies ...string) string {
	var rs []string
	for i, b := range bodies {
		quoted, _ := json.Marshal(b)
		rs = append(rs, fmt.Sprintf(`{"messageId":"m%d","receiptHandle":"r","body":%s,"attributes":{},"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-central-1:123456789012:failed"}`, i+1, quoted))
	}
	return event(rs...)
}

// given returns Lambda's record of a batch, with more members.
func given(stream, shard, first, last string, size int, more ...string) string {
	return fmt.Sprintf(`{"requestContext":{"requestId":"316aa6d0","functionArn":"arn:aws:lambda:eu-central-1:123456789012:function:f","condition":"RetryAttemptsExhausted","approximateInvokeCount":1},`+
		`"responseContext":{"statusCode":200,"executedVersion":"$LATEST","functionError":"Unhandled"},"version":"1.0","timestamp":"2026-01-02T03:14:05.717Z",`+
		`"DDBStreamBatchInfo":{"shardId":%q,"startSequenceNumber":%q,"endSequenceNumber":%q,"approximateArrivalOfFirstRecord":"2026-01-02T03:04:05Z","approximateArrivalOfLastRecord":"2026-01-02T03:04:09Z","batchSize":%d,"streamArn":%q}%s}`,
		shard, first, last, size, stream, strings.Join(append([]string{""}, more...), ","))
}

// inSNS returns a message as SNS wraps it.
func inSNS(body string) string {
	quoted, _ := json.Marshal(body)
	return fmt.Sprintf(`{"Type":"Notification","MessageId":"x","TopicArn":"arn:aws:sns:eu-central-1:123456789012:failed","Message":%s,"Timestamp":"2026-01-02T03:04:05.000Z"}`, quoted)
}

// stream is a stream of one shard with the keys, one record each.
func stream(t *testing.T, o streamtest.Options, keys ...string) (*streamtest.Server, *streamtest.Stream, string, []string) {
	t.Helper()
	server := streamtest.New(o)
	st := server.AddStream("shop")
	shard := st.Shards()[0]
	var rs []streamtest.Record
	for _, k := range keys {
		item := fmt.Sprintf(`{"PK":{"S":%q}}`, k)
		rs = append(rs, streamtest.Record{Keys: item, New: item})
	}
	return server, st, shard, st.Put(shard, rs...)
}

func TestOnFailure_FromTheStream(t *testing.T) {
	keys := strings.Fields("a b c d e f g h")
	for name, tt := range map[string]struct {
		options streamtest.Options
		change  func(server *streamtest.Server, st *streamtest.Stream, shard string)
		size    int  // Default: 4
		late    bool // the message arrives when the stream no longer has records of that time
		failed  bool
		written string
		gap     string // FIRST and LAST stand for the ends of the batch, c to f
	}{
		"all is there":            {written: "c d e f"},
		"in pages":                {options: streamtest.Options{PageRecords: 1, EmptyPages: 3}, written: "c d e f"},
		"at the shard's end":      {change: func(_ *streamtest.Server, st *streamtest.Stream, shard string) { st.Rollover(shard) }, written: "c d e f"},
		"what is before is gone":  {change: func(_ *streamtest.Server, st *streamtest.Stream, shard string) { st.Trim(shard, 2) }, written: "c d e f"},
		"the first is gone":       {change: func(_ *streamtest.Server, st *streamtest.Stream, shard string) { st.Trim(shard, 3) }, written: "d e f", gap: "1 records from c to c"},
		"all but one are gone":    {change: func(_ *streamtest.Server, st *streamtest.Stream, shard string) { st.Trim(shard, 5) }, written: "f", gap: "3 records from c to e"},
		"they are, in pages":      {options: streamtest.Options{PageRecords: 1, EmptyPages: 2}, change: func(_ *streamtest.Server, st *streamtest.Stream, shard string) { st.Trim(shard, 4) }, written: "e f", gap: "2 records from c to d"},
		"all are gone":            {change: func(_ *streamtest.Server, st *streamtest.Stream, shard string) { st.Trim(shard, 6) }, gap: "4 records from c to f"},
		"all of the shard":        {change: func(_ *streamtest.Server, st *streamtest.Stream, shard string) { st.Rollover(shard); st.Trim(shard, 8) }, gap: "4 records from c to f"},
		"the shard is gone":       {change: func(_ *streamtest.Server, st *streamtest.Stream, shard string) { st.Rollover(shard); st.Drop(shard) }, gap: "4 records from c to f"},
		"the stream is gone":      {change: func(_ *streamtest.Server, st *streamtest.Stream, _ string) { st.Delete() }, gap: "4 records from c to f"},
		"filtered by the mapping": {size: 1, change: func(_ *streamtest.Server, st *streamtest.Stream, shard string) { st.Trim(shard, 3) }, written: "d e f", gap: "1 records from c to c"},
		"an expired iterator": {change: func(server *streamtest.Server, _ *streamtest.Stream, _ string) {
			server.Fail("GetRecords", streamtest.Faults()["expired"])
		}, written: "c d e f"},
		"an answer that is cut": {change: func(server *streamtest.Server, _ *streamtest.Stream, _ string) {
			server.Fail("GetRecords", streamtest.Faults()["cut"])
		}, failed: true},
		"denied": {change: func(server *streamtest.Server, _ *streamtest.Stream, _ string) {
			server.Fail("GetShardIterator", streamtest.Faults()["denied"])
		}, failed: true},
		"throttled": {change: func(server *streamtest.Server, _ *streamtest.Stream, _ string) {
			server.Fail("GetShardIterator", streamtest.Faults()["throttled"])
		}, failed: true},
		"nothing is left": {late: true, gap: "4 records from c to f"},
		"an open shard that says nothing": {late: true, options: streamtest.Options{EmptyPages: 100}, change: func(_ *streamtest.Server, st *streamtest.Stream, shard string) {
			st.Put(shard, streamtest.Record{Keys: `{"PK":{"S":"i"}}`})
		}, gap: "4 records from c to f"},
		"nobody knows yet": {change: func(_ *streamtest.Server, st *streamtest.Stream, shard string) { st.Trim(shard, 8) }, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, st, shard, seqs := stream(t, tt.options, keys...)
				if tt.late {
					time.Sleep(time.Until(time.Date(2026, 1, 3, 4, 30, 0, 0, time.UTC)))
				}
				if tt.change != nil {
					tt.change(server, st, shard)
				}
				s, gaps, log := &store{}, &lost{}, &said{}
				h := OnFailure(assemble(t, s, &graveyard{}), WithStreams(server), WithGaps(gaps), log.option())
				size := 4
				if tt.size > 0 {
					size = tt.size
				}
				body := given(st.ARN(), shard, seqs[2], seqs[5], size)
				answer, err := h.Invoke(within(t, time.Minute), []byte(messages(body)))
				if err != nil || failures(t, answer) != map[bool]string{true: "m1"}[tt.failed] {
					t.Errorf("the answer is %s, %v", answer, err)
				}
				if s.keys() != tt.written {
					t.Errorf("written %q; want %q", s.keys(), tt.written)
				}
				want := tt.gap
				if want != "" {
					var n int
					var first, last string
					if _, err := fmt.Sscanf(want, "%d records from %1s to %1s", &n, &first, &last); err != nil {
						t.Fatal(err)
					}
					from, to := seqs[first[0]-'a'], seqs[last[0]-'a']
					if last == "c" || last == "d" || last == "e" { // up to the next record
						to = addToSequence(seqs[last[0]-'a'+1], -1)
					}
					want = fmt.Sprintf("%s: behind %s before %s, 03:04:05 to 03:04:09", shard, short(addToSequence(from, -1)), short(addToSequence(to, 1)))
					if line := fmt.Sprintf("first=%s last=%s records_about=%d", from, to, n); !strings.Contains(log.String(), line) {
						t.Errorf("logged: %s; want %s", log, line)
					}
				}
				if got := strings.Join(gaps.gaps, "; "); got != want {
					t.Errorf("gaps %q; want %q", got, want)
				}
				if told := strings.Contains(log.String(), "records are lost"); told != (tt.gap != "") {
					t.Errorf("logged: %s", log)
				}
				if again := strings.Contains(log.String(), "is not redriven"); again != tt.failed {
					t.Errorf("logged: %s", log)
				}
			})
		})
	}
}

// A batch that cannot be delivered stays, and takes no other with it; nor does a message that
// is none.
func TestOnFailure_OneTakesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, st, shard, seqs := stream(t, streamtest.Options{}, "a", "b", "c", "d")
		s := &store{fail: func(_ context.Context, key string) error {
			switch key {
			case "a":
				return pipeline.Fatal(redact.Class("missing").New("the table is gone"))
			case "b":
				return errors.New("refused")
			}
			return nil
		}}
		g, log := &graveyard{}, &said{}
		p, err := pipeline.New(pipeline.Options{Name: "shop", DeadLetters: g, Routes: []pipeline.Route{{Name: "store", Sink: s}}})
		if err != nil {
			t.Fatal(err)
		}
		one := func(i int) string { return given(st.ARN(), shard, seqs[i], seqs[i], 1) }
		answer, err := All(p, WithStreams(server), log.option()).Invoke(within(t, time.Minute),
			[]byte(messages(one(0), "hello", one(1), inSNS(one(2)), `{"id":"1","class":"write","record":{"x":"the secret"}}`, one(3))))
		if err != nil || failures(t, answer) != "m1 m2 m5" || s.keys() != "c d" || g.classes() != "write "+seqs[1] {
			t.Errorf("%s, %v, written %q, letters %q", answer, err, s.keys(), g.classes())
		}
		for _, want := range []string{"message=m1", "the table is gone", "message=m2", "names no batch that Lambda discarded", "message=m5", "tablewake redrive"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%q is not logged: %s", want, log)
			}
		}
		if strings.Contains(log.String(), "secret") {
			t.Errorf("logged: %s", log)
		}
	})
}

// Records that are lost are noted before their message goes; where they cannot be, it stays.
func TestOnFailure_GapsAreDurableFirst(t *testing.T) {
	for name, tt := range map[string]struct {
		options []Option
		want    string
	}{
		"no place":  {nil, "there is no store of gaps"},
		"not noted": {[]Option{WithGaps(&lost{fail: errDown})}, "could not be stored"},
	} {
		t.Run(name, func(t *testing.T) {
			server, st, shard, seqs := stream(t, streamtest.Options{}, "a", "b")
			st.Trim(shard, 1)
			s, log := &store{}, &said{}
			h := OnFailure(assemble(t, s, nil), append(tt.options, WithStreams(server), log.option())...)
			answer, err := h.Invoke(t.Context(), []byte(messages(given(st.ARN(), shard, seqs[0], seqs[1], 2))))
			if err != nil || failures(t, answer) != "m1" || s.keys() != "b" || !strings.Contains(log.String(), tt.want) {
				t.Errorf("%s, %v, written %q, logged: %s", answer, err, s.keys(), log)
			}
		})
	}
}

// Messages without time for them come again, untouched.
func TestOnFailure_Deadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, st, shard, seqs := stream(t, streamtest.Options{}, "a", "b", "c", "d", "e")
		s := &store{fail: func(context.Context, string) error { time.Sleep(time.Second); return nil }}
		h := OnFailure(assemble(t, s, nil), WithStreams(server), WithReserve(1500*time.Millisecond), WithMargin(100*time.Millisecond))
		answer, err := h.Invoke(within(t, 4*time.Second), []byte(messages(
			given(st.ARN(), shard, seqs[0], seqs[0], 1), given(st.ARN(), shard, seqs[1], seqs[3], 3), given(st.ARN(), shard, seqs[4], seqs[4], 1))))
		if err != nil || failures(t, answer) != "m2 m3" || s.keys() != "a b c" {
			t.Errorf("%s, %v, written %q", answer, err, s.keys())
		}
	})
}

func TestRedrive_Command(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var until time.Duration
		h := All(assemble(t, &store{}, nil), WithRedrive(func(ctx context.Context) error {
			deadline, _ := ctx.Deadline()
			until = time.Until(deadline)
			return nil
		}))
		answer, err := h.Invoke(within(t, time.Minute), []byte(`{"tablewake":"redrive"}`))
		if err != nil || string(answer) != `{}` || until != 54*time.Second {
			t.Errorf("%s, %v, with %v", answer, err, until)
		}
		if _, err = h.Invoke(t.Context(), []byte(`{"tablewake":"dance"}`)); err == nil || !strings.Contains(err.Error(), "unknown command") {
			t.Error(err)
		}
		h = OnFailure(assemble(t, &store{}, nil))
		if _, err = h.Invoke(t.Context(), []byte(`{"tablewake":"redrive"}`)); err == nil || !strings.Contains(err.Error(), "dead_letters.redrive: auto") {
			t.Error(err)
		}
		h = OnFailure(assemble(t, &store{}, nil), WithRedrive(func(context.Context) error { return errDown }))
		if _, err = h.Invoke(t.Context(), []byte(`{"tablewake":"redrive"}`)); err == nil || !errors.Is(err, errDown) {
			t.Error(err)
		}
	})
}
