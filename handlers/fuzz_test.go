package handlers

import (
	"encoding/json"
	"testing"

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
		told, err := read(body)
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
			server, _, _, _ := stream(t, streamtest.Options{}, "a", "b")
			fetch := &fetch{api: server, of: p}
			if fetch.all(t.Context()) == nil {
				if g := fetch.gap(); g != nil && (g.Records < 1 || g.First == "" || g.Last == "") {
					t.Errorf("gap %+v", g)
				}
			}
		}
	})
}

// An event of any kind is answered or refused, and never a panic; an answer is JSON without an
// empty identifier.
func FuzzEvent(f *testing.F) {
	for _, e := range []string{
		records("a", "b"), event(), event(inKinesis(1, "e1", "a", 1)), messages("x"), `{"tablewake":"redrive"}`, `{}`, `null`, `{"Records":[{"eventSource":"aws:dynamodb"}]}`,
		`{"Records":[],"window":{"start":"x","end":"y"},"state":{"n":1},"shardId":"s","eventSourceARN":"` + streamARN + `"}`,
	} {
		f.Add([]byte(e))
	}
	f.Fuzz(func(t *testing.T, e []byte) {
		answer, err := All(assemble(t, &store{}, &graveyard{})).Invoke(t.Context(), e)
		if err != nil {
			return
		}
		if !json.Valid(answer) {
			t.Errorf("%s is no JSON", answer)
		}
		if sight(e).origin != fromNobody {
			failures(t, answer)
		}
	})
}
