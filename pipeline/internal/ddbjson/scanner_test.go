package ddbjson_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

// nested returns a map n levels deep with a text at the bottom.
func nested(n int) string {
	return strings.Repeat(`{"M":{"a":`, n) + `{"S":"x"}` + strings.Repeat(`}}`, n)
}

func names(n int, name func(i int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,%q:{"NULL":true}`, name(i))
	}
	return "{" + b.String()[1:] + "}"
}

func TestSoundValues(t *testing.T) {
	for _, s := range []string{
		`{"S":""}`, `{"S":"\u0000\ud83e\udd8a\/"}`, "{\"S\":\"\x7f\"}", `{ "S" : "x" }`, `{"\u0053":"x"}`,
		`{"N":"0"}`, `{"N":"-0"}`, `{"N":"1E125"}`, `{"N":"9.9999999999999999999999999999999999999E+125"}`, `{"N":"1E-130"}`, `{"N":"\u0031"}`,
		`{"N":"0.00000000000000000000000000000000000000000000000000000000000001"}`, `{"N":"` + strings.Repeat("0", 50) + `1"}`,
		`{"B":""}`, `{"B":"AA=="}`, `{"B":"AAA="}`, `{"B":"AAAA"}`, `{"B":"\/\/8\u003d"}`,
		`{"BOOL":true}`, `{"BOOL":false}`, `{"NULL":true}`,
		`{"M":{}}`, `{"M":{"":{"S":""}}}`, `{"L":[]}`, nested(32),
		`{"SS":[""]}`, `{"NS":["1","-1","10"]}`, `{"BS":["","AA=="]}`,
		`{"M":` + names(70000, func(i int) string { return fmt.Sprint(i) }) + `}`,
		`{"M":` + names(300, func(i int) string { return strings.Repeat("x", i) }) + `}`,
		`{"M":` + names(5000, func(i int) string { return fmt.Sprint("name", i) }) + `}`,
	} {
		v, err := item.ParseValue([]byte(s))
		if err != nil {
			t.Errorf("%.80s: %v", s, err)
			continue
		}
		again, err := item.ParseValue(v.AppendDynamoDBJSON(nil))
		if err != nil || !again.Equal(v) || !v.Exists() {
			t.Errorf("%.80s reads back as %.80s: %v", s, again, err)
		}
	}
}

func TestUnsoundValues(t *testing.T) {
	for _, tt := range []struct{ value, err string }{
		{``, "too early"},
		{`{"S":"x"} `, ""},
		{`{"S":"x"}}`, "follows"},
		{`"x"`, "want a value"},
		{`{}`, "{} is not a value"},
		{`{"X":"x"}`, "type tag"},
		{`{"s":"x"}`, "type tag"},
		{`{"S":"x","N":"1"}`, "one type tag only"},
		{`{"S":5}`, "want a string"},
		{`{"S":null}`, "want a string"},
		{"{\"S\":\"\xff\"}", "UTF-8"},
		{"{\"S\":\"longer than a word \xc0\xaf\"}", "UTF-8"},
		{"{\"S\":\"\xed\xa0\x80\"}", "UTF-8"},
		{`{"S":"\ud83e"}`, "surrogate"},
		{`{"S":"\udd8a\ud83e"}`, "surrogate"},
		{"{\"S\":\"\n\"}", "control"},
		{`{"S":"\q"}`, "escape"},
		{`{"N":5}`, "want a string"},
		{`{"N":""}`, "not a number"},
		{`{"N":"."}`, "not a number"},
		{`{"N":"-"}`, "not a number"},
		{`{"N":"1 "}`, "not a number"},
		{`{"N":"0x1"}`, "not a number"},
		{`{"N":"NaN"}`, "not a number"},
		{`{"N":"1e"}`, "not a number"},
		{`{"N":"` + strings.Repeat("1", 39) + `"}`, "38 significant digits"},
		{`{"N":"1E126"}`, "too large"},
		{`{"N":"1E-131"}`, "too close to zero"},
		{`{"B":"A"}`, "base64"},
		{`{"B":"AA"}`, "base64"},
		{`{"B":"AA="}`, "base64"},
		{`{"B":"AA==AA=="}`, "base64"},
		{`{"B":"AB=="}`, "base64"},
		{`{"B":"AAB="}`, "base64"},
		{`{"B":"A-_A"}`, "base64"},
		{`{"B":"AA\n=="}`, "base64"},
		{`{"B":5}`, "want a string"},
		{`{"BOOL":"true"}`, "true or false"},
		{`{"BOOL":1}`, "true or false"},
		{`{"BOOL":tru}`, "true or false"},
		{`{"NULL":false}`, "always true"},
		{`{"NULL":null}`, "true or false"},
		{`{"M":[]}`, "object of attributes"},
		{`{"M":{"a":{"S":"x"},"a":{"S":"x"}}}`, "named twice"},
		{`{"M":{"a":{"S":"x"},"\u0061":{"S":"x"}}}`, "named twice"},
		{`{"M":` + names(40, func(i int) string { return fmt.Sprint("name", i%39) }) + `}`, "named twice"},
		{`{"M":` + names(40, func(i int) string { return fmt.Sprintf("a name of more bytes %d", i%39) }) + `}`, "named twice"},
		{`{"M":` + names(300, func(i int) string { return strings.Repeat("x", i%299) }) + `}`, "named twice"},
		{`{"M":` + names(70000, func(i int) string { return fmt.Sprint(i % 69999) }) + `}`, "named twice"},
		{`{"SS":["0","1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","7"]}`, "twice in the set"},
		{`{"M":{"a":{"S":"x"},}}`, "broken JSON"},
		{`{"L":{}}`, "want an array"},
		{`{"L":["x"]}`, "want a value"},
		{`{"L":[{"S":"x"},]}`, "want a value"},
		{nested(33), "32 levels"},
		{`{"SS":[]}`, "empty set"},
		{`{"SS":["a","b","a"]}`, "twice in the set"},
		{`{"SS":["a","\u0061"]}`, "twice in the set"},
		{`{"SS":[1]}`, "want a string"},
		{`{"NS":["1","2","1.0"]}`, "twice in the set"},
		{`{"NS":["1","1","1","1","1","1","1","1","1","1","1","1","1","1","1","1","1","1"]}`, "twice in the set"},
		{`{"NS":["x"]}`, "not a number"},
		{`{"BS":["AA==","AA=="]}`, "twice in the set"},
	} {
		_, err := item.ParseValue([]byte(tt.value))
		if tt.err == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.value, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%.60s: got %v, want %q", tt.value, err, tt.err)
		}
		// The value is refused at any place of a page too, so no check depends on the bytes after the value.
		padded := `{"pad":{"S":"x"},"at":` + tt.value + `,"behind":{"S":"and some more text"}}`
		if _, err := item.Parse([]byte(padded)); tt.value != "" && err == nil {
			t.Errorf("%.60s passes within an image", tt.value)
		}
	}
}

func TestParseErrorsHaveAPlaceAndNoData(t *testing.T) {
	_, err := item.Parse([]byte(`{"a":{"M":{"b c":{"L":[{"S":"secret"},{"N":"secret"}]}}}}`))
	if err == nil || !strings.Contains(err.Error(), `a["b c"][1]`) || !strings.Contains(err.Error(), "byte 44") || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}
