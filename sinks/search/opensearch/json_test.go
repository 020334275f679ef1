package opensearch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// bulkAnswer is an answer of the server to a bulk request, with line breaks.
const bulkAnswer = `{"took":3,"errors":true,"items":[
	{"index":{"_index":"a","_id":"1","_version":2,"result":"updated","_shards":{"total":1},"status":200}},
	{"update":{"_id":"\"}]","result":"noop","status":200}},
	{"delete":{"result":"not_found","status":404}},
	{"update":{"status":400,"error":{"type":"mapper_parsing_exception","reason":"failed to parse field [a\"b]","caused_by":{"type":"x","reason":"y","caused_by":{"type":"z","reason":[]}}}}}
]}`

func TestParseItems(t *testing.T) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(bulkAnswer)); err != nil {
		t.Fatal(err)
	}
	const want = `200  noop=false ""|200  noop=true ""|404  noop=false ""|400 mapper_parsing_exception<z noop=false "a\"b"|`
	for _, body := range [][]byte{[]byte(bulkAnswer), compact.Bytes()} {
		var got string
		if !parseItems(body, 4, func(_ int, it *bulkItem) {
			cause := ""
			if it.causeKind != nil {
				cause = "<" + string(it.causeKind)
			}
			got += fmt.Sprintf("%d %s%s noop=%t %q|", it.status, it.kind, cause, it.noop, it.field())
		}) {
			t.Fatalf("not an answer: %s", body)
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// parseItems refuses a truncated answer, and an answer about another number of documents.
func TestParseItemsOfAnotherRequest(t *testing.T) {
	ignore := func(int, *bulkItem) {}
	for n := range len(bulkAnswer) {
		if parseItems([]byte(bulkAnswer[:n]), 4, ignore) {
			t.Errorf("%d bytes of %d are taken for an answer", n, len(bulkAnswer))
		}
	}
	for _, n := range []int{0, 3, 5} {
		if parseItems([]byte(bulkAnswer), n, ignore) {
			t.Errorf("4 items are taken for %d", n)
		}
	}
	for _, body := range []string{"", "null", "[]", `{"items":{}}`, `{"items":[1,2,3,4]}`, "<html>"} {
		if parseItems([]byte(body), 4, ignore) {
			t.Errorf("%q is taken for an answer", body)
		}
	}
}

// No answer of the server makes the parsers read beyond the end of the answer.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{bulkAnswer, `{}`, `{"items":[]}`, `{"error":"x"}`, `{"docs":[{"_source":{"_tw":{"version":"1"}}},{"found":false}]}`, `[1,-2.5e3,true,null,"\\"]`, `"`, `{"a":}`, `,`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		parseItems(b, 1<<30, func(int, *bulkItem) {})
		parseVersions(b, 1<<30, func(int, *versionMark) {})
		answer{body: b}.parse()
	})
}

func BenchmarkParseItems(b *testing.B) {
	body := []byte(`{"items":[`)
	const n = 1000
	for i := range n {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"index":{"result":"updated","status":200}}`...)
	}
	body = append(body, "]}"...)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if !parseItems(body, n, func(int, *bulkItem) {}) {
			b.Fatal("not an answer")
		}
	}
}
