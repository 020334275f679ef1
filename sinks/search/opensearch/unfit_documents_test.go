package opensearch_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// race lets 8 writers put whole and decimal numbers into the same fields of an index at the same time. It returns the
// permanent failures.
func race(t *testing.T, index string, o opensearch.Options) (failed map[string]error) {
	t.Helper()
	failed = make(map[string]error)
	var mu sync.Mutex
	var all sync.WaitGroup
	start := make(chan struct{})
	for w := range 8 {
		s := open(t, o)
		var ms []search.Mutation
		for i := range 20 {
			miles := []string{"3", "2.5"}[w%2]
			ms = append(ms, mutation(index, fmt.Sprintf("%d-%d", w, i), 1, fmt.Sprintf(`"Miles":%s,"Trip":{"Legs":[%s]},"F%d":%s`, miles, miles, i, miles)))
		}
		all.Go(func() {
			<-start
			bad, _ := insist(t, s, ms)
			mu.Lock()
			defer mu.Unlock()
			for id, err := range bad {
				failed[id] = err
			}
		})
	}
	close(start)
	all.Wait()
	return failed
}

// Fact 38: If one bulk has whole numbers and another has decimals in new fields, dynamic mapping refuses some documents
// of the slower bulk. These documents are healthy, and succeed at the next attempt.
func TestFact38_RaceOfTypes(t *testing.T) {
	t.Parallel()
	for range 4 {
		if failed := race(t, index(t, roomy, ""), opensearch.Options{Mode: opensearch.Fast}); len(failed) > 0 {
			t.Fatalf("%d healthy documents failed for good, as %v", len(failed), first(failed))
		}
	}
}

func first(errs map[string]error) error {
	for _, err := range errs {
		return err
	}
	return nil
}

// Fact 38: In an index that a sink created, every number is a double, whichever value comes first, and whether the
// attribute is declared or not.
func TestFact38_OneMapping(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options("", small)
	o.Indexes.Attributes = map[string]item.Kind{"Declared": item.KindN, "Name": item.KindS}
	s := w.begin(o)
	apply(t, s, mutation(w.pipeline, "long", 1, `"Declared":"1.2345678901234567890"`))
	o.Indexes.OnDemand = true // each writer opens the index
	if failed := race(t, w.pipeline, o); len(failed) > 0 {
		t.Fatalf("%d healthy documents failed for good, as %v", len(failed), first(failed))
	}
	apply(t, s, mutation(w.pipeline, "declared", 1, `"Declared":3,"Large":123456789012345678901234567890`))
	at := ask(t, roomy, http.MethodGet, "/"+w.pipeline+"/_mapping/field/Miles,Trip.Legs,F*,Declared,Large,Name", "")
	fields := at[w.pipeline+".tw1"].(map[string]any)["mappings"].(map[string]any)
	if len(fields) != 24 {
		t.Errorf("there are %d fields, want 24: %v", len(fields), fields)
	}
	for name, field := range fields {
		if kind := fmt.Sprint(field); !strings.Contains(kind, "type:double") {
			t.Errorf("%s is %s", name, kind)
		}
	}
	w.begin(o)
	apply(t, s, mutation(w.pipeline, "text", 1, `"Miles":"2.5"`))
}

// Open does not compare the defaults of an index, because declarations change and an older index has no defaults.
func TestDefaultsAreNotCompared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(w.options("", small))
	o := w.options("", small)
	o.Indexes.Attributes = map[string]item.Kind{"Price": item.KindN}
	w.begin(o)
	o.Indexes.Attributes = nil
	w.begin(o)
}

// The mapping in the configuration takes precedence over the defaults.
func TestDefaultsLeaveTheMappingAlone(t *testing.T) {
	t.Parallel()
	declared := map[string]item.Kind{"N": item.KindN, "A": item.KindN, "X": item.KindN, "T": item.KindN, "H": item.KindN, "a.b": item.KindN}
	fields := search.Fields{Exclude: []string{"X"}, Hash: []string{"H"}, Rename: map[string]string{"A": "B"}, Numbers: map[string]search.Number{"T": search.NumberString}}
	for mapping, want := range map[string]string{
		`{}`: `B:double N:double`,
		`{"properties":{"N":{"type":"long"},"B.c":{"type":"long"}}}`: `B:object N:long`,
		`{"dynamic":"strict"}`: ``,
		`{"dynamic":false}`:    ``,
		`{"dynamic_templates":[{"w":{"match_mapping_type":"long","mapping":{"type":"integer"}}}]}`: `n:integer d:double`,
	} {
		w := newWorld(t)
		o := w.options("", mapping)
		o.Indexes.Fields, o.Indexes.Attributes = fields, declared
		s := w.begin(o)
		if strings.Contains(want, "n:") {
			apply(t, s, mutation(w.pipeline, "a", 1, `"d":2.5`))
		}
		made := ask(t, roomy, http.MethodGet, "/"+w.pipeline+".tw1", "")[w.pipeline+".tw1"].(map[string]any)["mappings"].(map[string]any)["properties"].(map[string]any)
		delete(made, "_tw")
		if len(made) != len(strings.Fields(want)) {
			t.Errorf("%s: there are %v, want %s", mapping, made, want)
		}
		for _, field := range strings.Fields(want) {
			name, kind, _ := strings.Cut(field, ":")
			field, _ := made[name].(map[string]any)
			if is, _ := field["type"].(string); is != kind && (kind != "object" || field["properties"] == nil) {
				t.Errorf("%s: %s is %v, want %s", mapping, name, field, kind)
			}
		}
	}
}

// unfit is the answer to two mutations, and the document of the first one does not fit.
const unfit = `{"items":[{"index":{"status":400,"error":{"type":"illegal_argument_exception","reason":"mapper [Miles] cannot be changed from type [long] to [float]"}}},{"index":{"status":201}}]}`

// A document that does not fit is sent once more, alone. If it still fails, Apply returns the error.
func TestUnfitIsTriedOnceMoreAlone(t *testing.T) {
	for again, want := range map[string]string{
		taken: "",
		`{"items":[{"index":{"status":400,"error":{"type":"illegal_argument_exception","reason":"mapper [Miles] cannot be changed from type [long] to [float]"}}}]}`: `field "Miles"`,
		`{"items":[{"index":{"status":429,"error":{"type":"rejected_execution_exception","reason":"full"}}}]}`:                                                       "retry",
	} {
		var lines []int
		s := open(t, opensearch.Options{URL: "http://127.0.0.1:1", Mode: opensearch.Fast, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			if lines = append(lines, strings.Count(string(b), "\n")); len(lines) == 1 {
				return answer(200, unfit), nil
			}
			return answer(200, again), nil
		})})
		rs, err := s.Apply(t.Context(), []search.Mutation{mutation("x", "a", 1, `"Miles":[3,2.5]`), mutation("x", "b", 1)})
		if err != nil || rs[1].Err != nil {
			t.Fatal(err, rs)
		}
		if fmt.Sprint(lines) != "[4 2]" {
			t.Errorf("requests of %v lines, want 4 and 2", lines)
		}
		_, transient := pipeline.Retryable(rs[0].Err)
		switch got := rs[0].Err; {
		case want == "" && got != nil, want == "retry" != transient:
			t.Errorf("%s: %v", again, got)
		case want != "" && want != "retry" && (got == nil || !strings.Contains(got.Error(), want)):
			t.Errorf("%s: %v, want an error of %s", again, got, want)
		}
	}
}

// A document whose fields get other types from other documents, one field after another, is healthy. Apply sends it
// until it is written, also if the server's mapping lags, so that the document fails for one field several times. Apply
// returns the error at once if the document has several types in the field. Else it returns the error after some tries.
func TestUnfitLosesAnotherField(t *testing.T) {
	lose := func(fields ...string) (answers []string) {
		for _, field := range fields {
			answers = append(answers, strings.ReplaceAll(`{"items":[{"index":{"status":400,"error":{"type":"illegal_argument_exception",`+
				`"reason":"mapper [FIELD] cannot be changed from type [long] to [float]"}}}]}`, "FIELD", field))
		}
		return answers
	}
	for _, c := range []struct {
		fields  string
		answers []string
		wantErr bool
		waits   bool
	}{
		{`"A":2.5,"B":2.5,"C":2.5`, append(lose("A", "B", "C"), taken), false, false},
		{`"A":2.5`, append(lose("A", "A", "A"), taken), false, true},
		{`"A":[2.5,1.5],"B":["x","x"]`, append(lose("A", "B", "B", "A", "A"), taken), false, true},
		{`"O":{"A":[2.5]},"A":3`, append(lose("O.A", "O.A"), taken), false, true},
		{`"A":2.5`, lose(slices.Repeat([]string{"A"}, 10)...), true, true},
		{`"A":[3,2.5],"B":1`, lose("A", "B", "A"), true, false},
		{`"A":["x","2026-01-01"]`, lose("A", "A"), true, false},
		{`"L":[{"A":3},{"A":true}]`, lose("L.A", "L.A"), true, false},
		{`"O.A":3,"O":{"A":2.5}`, lose("O.A", "O.A"), true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			s := open(t, opensearch.Options{URL: "http://127.0.0.1:1", Mode: opensearch.Fast, Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				sent++
				return answer(200, c.answers[sent-1]), nil
			})})
			begin := time.Now()
			rs, err := s.Apply(t.Context(), []search.Mutation{mutation("x", "a", 1, c.fields)})
			if err != nil || sent != len(c.answers) || (rs[0].Err != nil) != c.wantErr {
				t.Errorf("%s: %d requests, %v, %v: want %d, error %t", c.fields, sent, rs, err, len(c.answers), c.wantErr)
			}
			if took := time.Since(begin); (took > 0) != c.waits || took > time.Minute {
				t.Errorf("%s: it took %s, want a wait: %t", c.fields, took, c.waits)
			}
		})
	}
}
