package pipelinetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// PlainItem reads an image from plain JSON, to keep tests short. Strings become S, numbers N, arrays L, objects M.
// {"SS":[...]}, {"NS":[...]}, {"BS":[...]} and {"B":"..."} stay as written. "" is an image that does not exist.
func PlainItem(t testing.TB, doc string) item.Image {
	t.Helper()
	if doc == "" {
		return item.Image{}
	}
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	var it map[string]any
	if err := d.Decode(&it); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	for name, v := range it {
		it[name] = dynamoDBJSON(v)
	}
	b, err := json.Marshal(it)
	if err != nil {
		t.Fatal(err)
	}
	m, err := item.Parse(b)
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

// PlainChange returns a change from the [PlainItem] old to the [PlainItem] new. An INSERT has no old item, a REMOVE has
// no new item.
func PlainChange(t testing.TB, old, new string) *record.Change {
	t.Helper()
	c := &record.Change{
		Op: record.Modify, Old: PlainItem(t, old), New: PlainItem(t, new), Keys: PlainItem(t, `{"PK":"USER#1","SK":7}`),
		Time: time.Unix(1_700_000_000, 0).UTC(), ViewType: record.NewAndOldImages,
	}
	switch {
	case old == "":
		c.Op = record.Insert
	case new == "":
		c.Op = record.Remove
	}
	return c
}

// MustPath parses a path.
func MustPath(t testing.TB, s string) item.Path {
	t.Helper()
	return mustParse(t, item.ParsePath, s)
}

// MustPattern parses a pattern.
func MustPattern(t testing.TB, s string) item.Pattern {
	t.Helper()
	return mustParse(t, item.ParsePattern, s)
}

// MustDecimal parses a number.
func MustDecimal(t testing.TB, s string) decimal.Decimal {
	t.Helper()
	return mustParse(t, decimal.Parse[string], s)
}

func mustParse[T any](t testing.TB, parse func(string) (T, error), s string) T {
	t.Helper()
	v, err := parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Matches evaluates a condition. It fails the test on an error.
func Matches(t testing.TB, cond pipeline.Condition, c *record.Change) bool {
	t.Helper()
	ok, err := cond.Match(c)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// EventTexts returns the events of a detector as "path: old -> new".
func EventTexts(t testing.TB, d pipeline.Detector, c *record.Change) []string {
	t.Helper()
	dst := make([]pipeline.Event, 1, 8) // Detect must append to it
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
		texts = append(texts, fmt.Sprintf("%s: %s -> %s", e.Path, ValueText(e.Old), ValueText(e.New)))
	}
	return texts
}

// ValueText returns a value as plain JSON, or - if it is absent.
func ValueText(v item.Value) string {
	if !v.Exists() {
		return "-"
	}
	return string(v.AppendJSON(nil))
}
