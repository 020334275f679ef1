package opensearch_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// in returns m with a creation time of base plus a number of seconds.
func in(second int, m search.Mutation) search.Mutation {
	m.Time = time.Unix(base+int64(second), 0)
	return m
}

// Fact 20: A version made of a second and a counter starts again at 0 after a restart or on a child shard, so a newer
// write can be lost silently. Here each write of the same second comes from a new worker, and none is lost.
func TestFact20_ManyWorkersInOneSecond(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		ix := index(t, roomy, "")
		for version := 1; version <= 5; version++ {
			s := open(t, opensearch.Options{Mode: mode})
			if got := apply(t, s, in(0, mutation(ix, "a", version))); got[0] != pipeline.Written {
				t.Errorf("%s: version %d is %s", mode, version, got[0])
			}
		}
		if n := fmt.Sprint(source(t, roomy, ix, "a")["n"]); n != "5" {
			t.Errorf("%s: stands %s, want 5", mode, n)
		}
	}
}

// The contract of mode fast excludes this case (see the package comment): if two workers write changes of the same
// second, the last write stays, even if it is the older change. A change of the next second is in order again. Mode
// exact has no such case.
func TestWithinOneSecond(t *testing.T) {
	t.Parallel()
	for mode, stays := range map[opensearch.Mode]string{opensearch.Exact: "2", opensearch.Fast: "1"} {
		ix := index(t, roomy, "")
		ahead, lags := open(t, opensearch.Options{Mode: mode}), open(t, opensearch.Options{Mode: mode})
		apply(t, ahead, in(0, mutation(ix, "a", 2)))
		apply(t, lags, in(0, mutation(ix, "a", 1)))
		if n := fmt.Sprint(source(t, roomy, ix, "a")["n"]); n != stays {
			t.Errorf("%s: of one second stays version %s, want %s", mode, n, stays)
		}
		apply(t, ahead, in(1, mutation(ix, "a", 3)))
		apply(t, lags, in(0, mutation(ix, "a", 2)))
		if n := fmt.Sprint(source(t, roomy, ix, "a")["n"]); n != "3" {
			t.Errorf("%s: after the second stands version %s, want 3", mode, n)
		}
	}
}

// Fact 21: A delete and a re-insert of one key in one batch must end with the document. A put and a delete must end
// with the tombstone.
func TestFact21_DeleteThenInsertInOneBatch(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		ix, s := index(t, roomy, ""), open(t, opensearch.Options{Mode: mode})
		apply(t, s, in(0, mutation(ix, "a", 1)), in(0, mutation(ix, "b", 1)))
		got := apply(t, s, in(0, tombstone(ix, "a", 2)), in(0, mutation(ix, "b", 2)), in(0, mutation(ix, "a", 3)), in(0, tombstone(ix, "b", 3)))
		if want, is := "coalesced coalesced written written", outcomes(got); is != want {
			t.Errorf("%s: outcomes %s, want %s", mode, is, want)
		}
		a, b := source(t, roomy, ix, "a"), source(t, roomy, ix, "b")
		if fmt.Sprint(a["n"]) != "3" || b["n"] != nil || b["_tw"].(map[string]any)["deleted"] != true {
			t.Errorf("%s: there stand %v and %v", mode, a, b)
		}
	}
}

// Fact 22: Keys joined without escapes (pk|sk) collide, binary keys need an encoding, and an id has at most 512 bytes.
// Here each item has its own document.
func TestFact22_EachItemHasItsDocument(t *testing.T) {
	t.Parallel()
	ix, s := index(t, roomy, ""), open(t, opensearch.Options{})
	long := strings.Repeat("é", 600)
	var ms []search.Mutation
	for i, keys := range []string{
		`{"PK":{"S":"a|b"},"SK":{"S":"c"}}`, `{"PK":{"S":"a"},"SK":{"S":"b|c"}}`,
		`{"PK":{"S":"a,b"},"SK":{"S":"c"}}`, `{"PK":{"S":"a"},"SK":{"S":"b,c"}}`, `{"PK":{"S":"a%2Cb"},"SK":{"S":"c"}}`,
		`{"PK":{"B":"AP8="},"SK":{"S":"c"}}`, `{"PK":{"S":"AP8="},"SK":{"S":"c"}}`, `{"PK":{"S":"\u0000\""},"SK":{"N":"1"}}`,
		`{"PK":{"S":"` + long + `a"},"SK":{"S":"c"}}`, `{"PK":{"S":"` + long + `b"},"SK":{"S":"c"}}`,
	} {
		image, err := item.Parse([]byte(keys))
		if err != nil {
			t.Fatal(err)
		}
		key, err := item.MakeKey("", image)
		if err != nil {
			t.Fatal(err)
		}
		ms = append(ms, mutation(ix, search.DocumentID(key), i+1))
	}
	apply(t, s, ms...)
	for i, m := range ms {
		if n := fmt.Sprint(source(t, roomy, ix, url.PathEscape(m.ID))["n"]); n != fmt.Sprint(i+1) {
			t.Errorf("at the id of item %d stands item %s", i+1, n)
		}
	}
}

// Fact 25: Numbers above 2^53 lose digits in JavaScript and in the doubles of OpenSearch. Integers, and decimals of 15
// digits, keep all digits here. A longer decimal that is written as a JSON number (numbers: scaled_float) has only the
// digits of a double in mode exact, because the script makes the server parse the document again.
func TestFact25_NumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	const integer, decimal, longest = "9007199254740993", "12345678901.2345", "12345678901234567890123456789012345678"
	const long = "1234567890123456789.25"
	for mode, scaled := range map[opensearch.Mode]string{opensearch.Exact: "1.23456789012345677E18", opensearch.Fast: long} {
		ix, s := index(t, roomy, `{"settings":{"index":{"number_of_replicas":0}},"mappings":{"dynamic":false}}`), open(t, opensearch.Options{Mode: mode})
		apply(t, s, mutation(ix, "a", 1, fmt.Sprintf(`"I":%s,"J":-%s,"D":%s,"L":%s,"S":%s`, integer, integer, decimal, longest, long)))
		doc := source(t, roomy, ix, "a")
		for name, want := range map[string]string{"I": integer, "J": "-" + integer, "D": decimal, "L": longest, "S": scaled} {
			if got := fmt.Sprint(doc[name]); got != want && !(name == "D" && got == "1.23456789012345E10") {
				t.Errorf("%s: %s is %s, want %s", mode, name, got, want)
			}
		}
	}
}

// Fact 23: The delete of a missing document succeeds, for example the second purge of a tombstone.
func TestFact23_DeleteOfWhatIsGone(t *testing.T) {
	t.Parallel()
	ix := index(t, roomy, "")
	items := ask(t, roomy, http.MethodPost, "/_bulk", `{"delete":{"_index":"`+ix+`","_id":"a"}}`+"\n")
	if !strings.Contains(fmt.Sprint(items), "status:404") || items["errors"] != false {
		t.Errorf("the server says %v", items)
	}
	for _, mode := range modes {
		s := open(t, opensearch.Options{Mode: mode})
		if got := apply(t, s, tombstone(ix, "never-"+string(mode), 1)); got[0] != pipeline.Written {
			t.Errorf("%s: a delete of what never was is %s", mode, got[0])
		}
	}
}
