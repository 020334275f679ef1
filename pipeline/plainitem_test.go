package pipeline_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// plainItem reads an image written as plain JSON, to keep tests short: texts are
// S, numbers N, {"SS":[...]}, {"NS":[...]} and {"BS":[...]} sets, {"B":"..."}
// binaries, and the rest what it looks like. "" is an image that does not exist.
func plainItem(t testing.TB, doc string) pipeline.Image {
	t.Helper()
	if doc == "" {
		return pipeline.Image{}
	}
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	var item map[string]any
	if err := d.Decode(&item); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	for name, v := range item {
		item[name] = dynamoDBJSON(v)
	}
	b, err := json.Marshal(item)
	if err != nil {
		t.Fatal(err)
	}
	m, err := pipeline.ParseImage(b)
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return m
}

func dynamoDBJSON(v any) any {
	switch v := v.(type) {
	case string:
		return map[string]any{"S": v}
	case json.Number:
		return map[string]any{"N": v.String()}
	case bool:
		return map[string]any{"BOOL": v}
	case []any:
		for i := range v {
			v[i] = dynamoDBJSON(v[i])
		}
		return map[string]any{"L": v}
	case map[string]any:
		for tag := range v {
			if len(v) == 1 && slices.Contains([]string{"SS", "NS", "BS", "B"}, tag) {
				return v
			}
		}
		for name := range v {
			v[name] = dynamoDBJSON(v[name])
		}
		return map[string]any{"M": v}
	default:
		return map[string]any{"NULL": true}
	}
}

// plainChange is a change from one plain item to another; its operation follows
// from which of them exist.
func plainChange(t testing.TB, old, new string) *pipeline.Change {
	t.Helper()
	c := &pipeline.Change{
		Op: pipeline.Modify, Old: plainItem(t, old), New: plainItem(t, new), Keys: plainItem(t, `{"PK":"USER#1","SK":7}`),
		Time: time.Unix(1_700_000_000, 0).UTC(), ViewType: pipeline.NewAndOldImages,
	}
	switch {
	case old == "":
		c.Op = pipeline.Insert
	case new == "":
		c.Op = pipeline.Remove
	}
	return c
}

// mustPath parses a path.
func mustPath(t testing.TB, s string) pipeline.Path {
	t.Helper()
	p, err := pipeline.ParsePath(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// mustPattern parses a pattern.
func mustPattern(t testing.TB, s string) pipeline.Pattern {
	t.Helper()
	p, err := pipeline.ParsePattern(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// mustDecimal parses a number.
func mustDecimal(t testing.TB, s string) pipeline.Decimal {
	t.Helper()
	d, err := pipeline.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// matches asks a condition, and fails the test where it fails.
func matches(t testing.TB, cond pipeline.Condition, c *pipeline.Change) bool {
	t.Helper()
	ok, err := cond.Match(c)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// eventTexts shows what a detector sees: "path: old -> new".
func eventTexts(t testing.TB, d pipeline.Detector, c *pipeline.Change) []string {
	t.Helper()
	dst := make([]pipeline.Event, 1, 8) // what was there before must stay
	dst[0].Path = "before"
	events, err := d.Detect(dst, c)
	if err != nil {
		t.Fatal(err)
	}
	if len(events) == 0 || events[0].Path != "before" {
		t.Fatal("Detect did not append")
	}
	texts := []string{}
	for _, e := range events[1:] {
		texts = append(texts, fmt.Sprintf("%s: %s -> %s", e.Path, valueText(e.Old), valueText(e.New)))
	}
	return texts
}

// valueText is a value as plain JSON, or a word if there is none.
func valueText(v pipeline.Value) string {
	if !v.Exists() {
		return "-"
	}
	return string(v.AppendJSON(nil))
}
