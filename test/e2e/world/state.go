package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/klauspost/compress/zstd"
)

// State has the contents that readers find, by part and name. The texts are equal for equal contents.
type State map[string]map[string]string

// Parts of a state.
const (
	Rows      = "rows"      // of views and aggregates, by key
	Documents = "documents" // by id
	Objects   = "objects"   // of the per-item archive, by name
	Lines     = "lines"     // of the log, each once
	Events    = "events"    // by id
	Letters   = "letters"   // by sink, item and version
)

// NewState returns the state of stores that hold nothing.
func NewState() State {
	s := make(State)
	for _, part := range []string{Rows, Documents, Objects, Lines, Events, Letters} {
		s[part] = make(map[string]string)
	}
	return s
}

func (s State) row(attributes map[string]types.AttributeValue) {
	key := map[string]types.AttributeValue{"PK": attributes["PK"], "SK": attributes["SK"]}
	// The attributes of the store itself are left out.
	maps.DeleteFunc(attributes, func(name string, _ types.AttributeValue) bool { return strings.HasPrefix(name, "_tw") })
	s[Rows][item(key)] = item(attributes)
}

func (s State) document(t *testing.T, id string, source []byte) {
	t.Helper()
	doc := object(t, source)
	by, _ := doc["_tw"].(map[string]any)
	doc["_tw"] = by["version"] // a store keeps additional entries of its own
	s[Documents][id] = text(doc)
}

// object adds an object of the per-item archive, or the lines of an object of the log.
func (s State) object(t *testing.T, name string, body []byte) {
	t.Helper()
	if strings.HasPrefix(name, "archive/") {
		s[Objects][name] = text(object(t, body))
		return
	}
	r, err := zstd.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for line := range bytes.Lines(all) {
		s[Lines][text(object(t, line))] = ""
	}
}

func (s State) event(t *testing.T, body []byte) {
	t.Helper()
	e := object(t, body)
	s[Events][fmt.Sprint(e["id"])] = text(e)
}

// object parses a JSON object. Numbers keep their digits.
func object(t *testing.T, b []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var o map[string]any
	if err := d.Decode(&o); err != nil {
		t.Fatalf("%v in %.200q", err, b)
	}
	return o
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// item returns attributes as text. Equal numbers have equal texts, and sets are sorted.
func item(m map[string]types.AttributeValue) string {
	parts := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%q: %s", name, value(m[name])))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func value(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		return "N " + number(v.Value)
	case *types.AttributeValueMemberM:
		return "M " + item(v.Value)
	case *types.AttributeValueMemberL:
		var parts []string
		for _, e := range v.Value {
			parts = append(parts, value(e))
		}
		return "L [" + strings.Join(parts, ", ") + "]"
	case *types.AttributeValueMemberSS:
		return fmt.Sprintf("SS %q", slices.Sorted(slices.Values(v.Value)))
	case *types.AttributeValueMemberNS:
		var parts []string
		for _, n := range v.Value {
			parts = append(parts, number(n))
		}
		return fmt.Sprintf("NS %q", slices.Sorted(slices.Values(parts)))
	case *types.AttributeValueMemberBS:
		return fmt.Sprintf("BS %q", slices.SortedFunc(slices.Values(v.Value), bytes.Compare))
	}
	return strings.TrimPrefix(fmt.Sprintf("%T ", v), "*types.AttributeValueMember") + text(v)
}

func number(s string) string {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return "no number: " + s
	}
	return r.RatString()
}

// Same compares a state with the wanted state, and reports the first differences.
func Same(t *testing.T, got, want State) {
	t.Helper()
	for _, part := range slices.Sorted(maps.Keys(want)) {
		wrong := 0
		report := func(format string, args ...any) {
			t.Helper()
			if wrong++; wrong <= 3 {
				t.Errorf(part+": "+format, args...)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(want[part])) {
			if is, ok := got[part][name]; !ok {
				report("%s is missing: %s", name, want[part][name])
			} else if is != want[part][name] {
				report("%s is\n  %s\nwant\n  %s", name, is, want[part][name])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(got[part])) {
			if _, ok := want[part][name]; !ok {
				report("%s should not be there: %s", name, got[part][name])
			}
		}
		if wrong > 3 {
			t.Errorf("%s: %d differences in all, of %d", part, wrong, len(want[part]))
		}
	}
}
