package record_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/record"
)

func TestDocuments(t *testing.T) {
	for _, tt := range []struct {
		name, document string
		changes        int
	}{
		{"record", pipelinetest.Insert, 1},
		{"array", `[` + pipelinetest.Insert + `,` + pipelinetest.Modify + `]`, 2},
		{"empty array", ` [ ] `, 0},
		{"event", `{"Records":[` + pipelinetest.Insert + `,` + pipelinetest.Modify + `]}`, 2},
		{"event without records", `{"Records":[]}`, 0},
		{"answer, its fields the other way round", `{"NextShardIterator":"x","MillisBehindLatest":5,"Records":[` + pipelinetest.Insert + `]}`, 1},
		{"byte order mark", "\xef\xbb\xbf" + pipelinetest.Insert, 1},
		{"white space around", "\r\n\t " + pipelinetest.Insert + " \n", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, err := record.NewDecoder(record.DecoderOptions{}).Decode([]byte(tt.document))
			if err != nil || len(page.Errors) > 0 || len(page.Changes) != tt.changes || page.Bytes != len(tt.document) {
				t.Errorf("%v %v, %d changes of %d bytes", err, page.Errors, len(page.Changes), page.Bytes)
			}
		})
	}
}

func TestShardOfATumblingWindow(t *testing.T) {
	event := `{"Records":[` + pipelinetest.Insert + `],"shardId":"shardId-0000001","window":{"start":"2026-11-21T09:00:00Z"},"state":{}}`
	if c := one(t, record.DecoderOptions{}, event); c.Shard != "shardId-0000001" {
		t.Errorf("shard %q", c.Shard)
	}
	if c := one(t, record.DecoderOptions{Shard: "given"}, event); c.Shard != "given" {
		t.Errorf("shard %q", c.Shard)
	}
}

func TestBrokenGrammarKeepsWhatStandsBefore(t *testing.T) {
	for _, tt := range []struct {
		name, document string
		changes        int
		offset         int // -1: at the end
		err            string
	}{
		{"nothing", ``, 0, 0, "empty"},
		{"white space", " \n", 0, 2, "empty"},
		{"cut in a record", `[` + pipelinetest.Insert + `,` + pipelinetest.Modify[:100], 1, -1, "too early"},
		{"cut in a string", `[` + pipelinetest.Insert + `,` + pipelinetest.Modify[:30], 1, -1, "too early"},
		{"cut behind a record", `[` + pipelinetest.Insert, 1, -1, "too early"},
		{"cut behind a comma", `[` + pipelinetest.Insert + `,`, 1, -1, "too early"},
		{"comma too many", `[` + pipelinetest.Insert + `,]`, 1, len(pipelinetest.Insert) + 2, "broken JSON"},
		{"two documents", pipelinetest.Insert + ` ` + pipelinetest.Modify, 1, len(pipelinetest.Insert) + 1, "follows"},
		{"garbage behind", `{"Records":[` + pipelinetest.Insert + `]}]`, 1, len(pipelinetest.Insert) + 14, "follows"},
		{"Records no array", `{"Records":{}}`, 0, 11, "no array"},
		{"Records twice", `{"Records":[],"Records":[]}`, 0, 24, "twice"},
		{"garbage", `hello`, 0, 0, "broken JSON"},
		{"unquoted name", `{Records:[]}`, 0, 1, "broken JSON"},
		{"control character", "{\"a\x01\":1}", 0, 3, "control"},
		{"escape unknown", `{"a\x":1}`, 0, 4, "escape"},
		{"escape cut", `{"a\u12":1}`, 0, 3, "escape"},
		{"number with a zero before", `[01]`, 0, 2, "broken JSON"},
		{"number without digits", `[-]`, 0, 2, "broken JSON"},
		{"number that ends in a point", `[1.]`, 0, 3, "broken JSON"},
		{"number that ends in e", `[1e]`, 0, 3, "broken JSON"},
		{"word", `[nul]`, 0, 1, "broken JSON"},
		{"nested too deep", `[` + strings.Repeat(`[`, 1002) + strings.Repeat(`]`, 1002) + `]`, 0, 1002, "too deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, err := record.NewDecoder(record.DecoderOptions{}).Decode([]byte(tt.document))
			broken, ok := errors.AsType[*record.FramingError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if tt.offset < 0 {
				tt.offset = len(tt.document)
			}
			if int(broken.Offset) != tt.offset || broken.Index != tt.changes || !strings.Contains(broken.Error(), tt.err) {
				t.Errorf("got %v, want %q at %d", broken, tt.err, tt.offset)
			}
			if len(page.Changes) != tt.changes || len(page.Errors) != 0 {
				t.Errorf("%d changes, %v", len(page.Changes), page.Errors)
			}
		})
	}
}

// Wherever a document is cut, no change is invented, and no complete change is lost.
func TestEveryCut(t *testing.T) {
	document := `{"Records":[` + pipelinetest.Insert + `,` + pipelinetest.Modify + `]}`
	ends := []int{len(`{"Records":[` + pipelinetest.Insert), len(`{"Records":[` + pipelinetest.Insert + `,` + pipelinetest.Modify)}
	d := record.NewDecoder(record.DecoderOptions{})
	for cut := range len(document) {
		page, err := d.Decode([]byte(document[:cut]))
		if _, ok := errors.AsType[*record.FramingError](err); !ok {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		want := 0
		for _, end := range ends {
			if cut >= end {
				want++
			}
		}
		if len(page.Changes) != want || len(page.Errors) > 0 {
			t.Fatalf("cut at %d: %d changes, %v", cut, len(page.Changes), page.Errors)
		}
	}
}
