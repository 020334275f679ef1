package handlers

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// A body of any kind is a batch, objects or an error, and never a panic; what it names is sound.
func FuzzMessage(f *testing.F) {
	for _, body := range []string{
		given(streamARN, "shardId-1", "101", "102", 2), given(streamARN, "shardId-1", "101", "102", 2, payload(records("a"))),
		inSNS(given(streamARN, "shardId-1", "1", "2", 1)), created("aws/lambda/x+y%2F", `"versionId":"1"`), inSNS(created("a")),
		`{"Event":"s3:TestEvent"}`, `{"id":"1","class":"write"}`, "H4sI", "", "null", "[]", `{"KinesisBatchInfo":{}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		told, err := parseNotice(body)
		if err != nil {
			if told.record != nil || told.objects != nil {
				t.Errorf("both %+v and %v", told, err)
			}
			return
		}
		for _, p := range told.objects {
			if p.bucket == "" || p.key == "" {
				t.Errorf("object %+v", p)
			}
		}
		r := told.record
		if r == nil {
			return
		}
		r.event()
		if p := r.DynamoDB; p != nil && p.check() == nil {
			// The range is judged without a panic, whatever it is.
			server, st, shard, _ := stream(t, streamtest.Options{}, "a", "b")
			st.Rollover(shard)
			fetch := newRangeFetch(server, p)
			if fetch.readRange(t.Context()) == nil {
				for _, g := range fetch.losses() {
					if g.count < 1 || g.first == "" || g.last == "" {
						t.Errorf("gap %+v", g)
					}
				}
			}
		}
	})
}

// An event of any kind is opened or refused, and never panics. The parts that the answer copies from it are JSON, and
// each of its records is counted.
func FuzzEvent(f *testing.F) {
	for _, e := range []string{
		records("a", "b"), event(), event(inKinesis(1, "e1", "a", 1)), messages("x"), `{"tablewake":"redrive"}`, `{}`, `null`, `{"Records":[{"eventSource":"aws:dynamodb"}]}`,
		`{"Records":[],"window":{"start":"x","end":"y"},"state":{"n":1},"shardId":"s","eventSourceARN":"` + streamARN + `"}`,
		`{"state":"\\\"]","Records":[` + recordJSON("a", 1) + ` , {}],"window":1}`,
	} {
		f.Add([]byte(e))
	}
	p, err := pipeline.New(pipeline.Options{Name: "shop", Routes: []pipeline.Route{{Name: "store", Sink: &store{}}}})
	if err != nil {
		f.Fatal(err)
	}
	h := newHandler(p, nil, fromDynamoDB, fromKinesis)
	f.Fuzz(func(t *testing.T, e []byte) {
		s := detectEvent(e)
		if h.accepts(s) != nil {
			return
		}
		b, err := h.decodeEvent(e, s.origin)
		if err != nil {
			return
		}
		a := answer{window: b.window, records: b.size(), oldestAge: b.age(time.Now())}
		if !json.Valid(a.json()) {
			t.Errorf("the answer %s to %s is not JSON", a.json(), e)
		}
		var want struct{ Records []json.RawMessage }
		if err := json.Unmarshal(e, &want); err == nil && a.records != len(want.Records) {
			t.Errorf("%d records of %d", a.records, len(want.Records))
		}
		if u := b.firstUnfinished(); (u == nil) != (a.records == 0) || u != nil && u.Index != 0 {
			t.Errorf("before the run the first unfinished record is %v", u)
		}
	})
}
