package shardreader_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// A masked recording holds no hidden value. It has keys where they are open, and replays. A record whose hidden parts
// are unknown is left out and counted.
func TestRecord_Masked(t *testing.T) {
	p, err := item.ParsePattern("Email")
	if err != nil {
		t.Fatal(err)
	}
	m, err := mask.New([]item.Pattern{p}, []byte("a secret of the test"))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		for i, image := range []string{`{"PK":{"S":"item-1"},"Email":{"S":"canary"}}`, `{"PK":{"S":"item-2"}}`, `{"PK":{"S":"item-3"},"Email":{"N":"canary"}}`} {
			key := `{"PK":{"S":"item-` + string(rune('1'+i)) + `"}}`
			st.Put(st.Shards()[0], streamtest.Record{Keys: key, New: image})
		}
		for _, mask := range []*mask.Mask{m, nil} {
			var out bytes.Buffer
			r, err := shardreader.Record(t.Context(), &out, shardreader.RecordOptions{API: server, Source: "shop", EmptyPages: 1, Mask: mask})
			if err != nil {
				t.Fatal(err)
			}
			if mask == nil {
				if r.Records != 3 || r.Undecodable != 1 || r.Masked != 0 || r.LeftOut != 0 || strings.Count(out.String(), "canary") != 2 {
					t.Errorf("as it came: %+v\n%s", r, out.String())
				}
				continue
			}
			if r.Records != 2 || r.Undecodable != 0 || r.Masked != 1 || r.LeftOut != 1 || strings.Contains(out.String(), "canary") {
				t.Errorf("masked: %+v\n%s", r, out.String())
			}
			page := record.NewDecoder(record.DecoderOptions{}).DecodeLines(out.Bytes())
			if len(page.Changes) != 2 || page.Changes[0].Key != "item-1" || page.Changes[0].StreamARN != r.Stream.ARN {
				t.Errorf("it replays as %d changes, %v", len(page.Changes), page.Errors)
			}
		}
	})
}
