package opensearch_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// canary is a value that no error may show.
const canary = "ada@example.com"

// strict is a mapping whose Price is a number. An index with it accepts no other fields than _tw, n, text, Text and
// Price.
const strict = `{"settings":{"index":{"number_of_shards":1,"number_of_replicas":0}},"mappings":{"dynamic":"strict","properties":{
	"_tw":{"dynamic":false,"properties":{}},"n":{"type":"long"},"text":{"type":"keyword"},"Text":{"type":"keyword"},"Price":{"type":"long"}}}}`

// with returns m with another id or another document. "" leaves the id or the document as it is.
func with(m search.Mutation, id, doc string) search.Mutation {
	if id != "" {
		m.ID = id
	}
	if doc != "" {
		m.Doc = []byte(doc)
	}
	return m
}

// A bulk with every kind of faulty document writes all other documents. The error of a faulty document names the field
// if the server does, and shows no value. Some faults fail only their document. Others fail the whole request, and the
// store splits the request until it finds the faulty documents.
func TestPoison(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			ix := index(t, roomy, strict)
			s, w := watched(t, roomy, opensearch.Options{Mode: mode})
			apply(t, s, mutation(ix, "stale", 9))
			long := strings.Repeat(canary, 40)
			poison := map[string]struct {
				m    search.Mutation
				says string
			}{
				"a value of another type":  {mutation(ix, canary+"1", 1, `"Price":"`+canary+`"`), `field "Price"`},
				"an unknown field":         {mutation(ix, canary+"2", 1, `"Colour":"`+canary+`"`), `field "Colour"`},
				"a long text":              {mutation(ix, canary+"3", 1, `"Text":"`+strings.Repeat(canary, 2500)+`"`), `field "Text"`},
				"not JSON":                 {with(mutation(ix, canary+"4", 1), "", `{"_tw":{"version":"1"},"n":`+canary+`}`), "400"},
				"two of one name":          {with(mutation(ix, canary+"5", 1), "", `{"_tw":{"version":"1"},"n":1,"n":2,"Text":"`+canary+`"}`), "400"},
				"a long id":                {with(mutation(ix, "", 1), long, ""), "bytes; OpenSearch takes 512"},
				"no id":                    {with(mutation(ix, "", 1), "", ""), "without an id"},
				"no document":              {with(mutation(ix, "x", 1), "", `"`+canary+`"`), "not a JSON object"},
				"an index of no such name": {mutation("Upper"+ix, canary+"6", 1), "upper-case"},
			}
			var ms []search.Mutation
			want := []string{}
			sound := func(n int) {
				for _, m := range filled(ix, string(rune('a'+len(ms))), n, 10) {
					ms = append(ms, m)
					want = append(want, m.ID)
				}
			}
			for _, name := range []string{"a value of another type", "an unknown field", "a long text", "not JSON", "two of one name", "a long id", "no id", "no document", "an index of no such name"} {
				sound(3)
				ms = append(ms, poison[name].m)
			}
			sound(2)
			ms = append(ms, mutation(ix, "stale", 1))
			rs, err := s.Apply(t.Context(), ms)
			if err != nil {
				t.Fatal(err)
			}
			of := func(id string) *search.Result {
				for i := range ms {
					if ms[i].ID == id {
						return &rs[i]
					}
				}
				return nil
			}
			for name, p := range poison {
				err := of(p.m.ID).Err
				_, passes := pipeline.Retryable(err)
				if err == nil || passes || pipeline.IsFatal(err) || !strings.Contains(err.Error(), p.says) {
					t.Errorf("%s: %v, want an error for good with %s", name, err, p.says)
				} else if strings.Contains(err.Error(), canary) {
					t.Errorf("%s: the error shows a value: %v", name, err)
				}
			}
			if r := of("stale"); r.Err != nil || r.Outcome != pipeline.Superseded {
				t.Errorf("the stale document: %s %v", r.Outcome, r.Err)
			}
			for _, id := range want {
				if r := of(id); r.Err != nil || r.Outcome != pipeline.Written || source(t, roomy, ix, id) == nil {
					t.Errorf("document %s: %s %v", id, r.Outcome, r.Err)
				}
			}
			if mode == opensearch.Exact && w.statuses[400] < 3 {
				t.Errorf("statuses %v, want whole requests that are refused for a document", w.statuses)
			}
		})
	}
}

// The store does not send a document that would fail the whole request.
func TestWhatIsNotSentWouldFailAll(t *testing.T) {
	ix := index(t, roomy, "")
	for name, line := range map[string]string{
		"a long id":          `{"index":{"_index":"` + ix + `","_id":"` + strings.Repeat("x", 513) + `"}}`,
		"a negative version": `{"index":{"_index":"` + ix + `","_id":"a","version":-1,"version_type":"external_gte"}}`,
	} {
		body := `{"index":{"_index":"` + ix + `","_id":"b"}}` + "\n{}\n" + line + "\n{}\n"
		resp, err := http.Post(server(t, roomy)+"/_bulk", "application/x-ndjson", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusBadRequest || source(t, roomy, ix, "b") != nil {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	s := open(t, opensearch.Options{Mode: opensearch.Fast})
	old := mutation(ix, "a", 1)
	old.Time = old.Time.AddDate(-100, 0, 0)
	rs, err := s.Apply(t.Context(), []search.Mutation{old, mutation(ix, "b", 1), with(mutation(ix, "", 1), strings.Repeat("x", 512), "")})
	if err != nil {
		t.Fatal(err)
	}
	if rs[0].Err == nil || !strings.Contains(rs[0].Err.Error(), "1970") || rs[1].Err != nil || rs[2].Err != nil {
		t.Errorf("results %v", rs)
	}
}
