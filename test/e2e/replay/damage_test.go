package replay

import (
	"bytes"
	"encoding/json"
	"strings"
)

// damages make a sound record unsound, each in one way. The grammar of the line stays sound. brokenLines has the
// damages of the grammar.
var damages = map[string]func(record map[string]any) []byte{
	"a number that is a word":       badValue(`{"N":"ten"}`),
	"a number of 39 digits":         badValue(`{"N":"123456789012345678901234567890123456789"}`),
	"a number of 39 with a point":   badValue(`{"N":"1.23456789012345678901234567890123456789"}`),
	"an empty number":               badValue(`{"N":""}`),
	"no finite number":              badValue(`{"N":"NaN"}`),
	"a number with a space":         badValue(`{"N":" 1"}`),
	"a hexadecimal number":          badValue(`{"N":"0x10"}`),
	"a number too large":            badValue(`{"N":"1e126"}`),
	"a number too small":            badValue(`{"N":"1e-131"}`),
	"a huge exponent":               badValue(`{"N":"1e99999999999999999999"}`),
	"a bare number":                 badValue(`{"N":1}`),
	"an unknown type":               badValue(`{"X":"1"}`),
	"a type in lower case":          badValue(`{"s":"1"}`),
	"two types":                     badValue(`{"S":"1","N":"1"}`),
	"no type":                       badValue(`{}`),
	"a bare text":                   badValue(`"text"`),
	"a bare null":                   badValue(`null`),
	"a text that is a number":       badValue(`{"S":1}`),
	"a BOOL that is a text":         badValue(`{"BOOL":"true"}`),
	"a NULL that is false":          badValue(`{"NULL":false}`),
	"a map that is a list":          badValue(`{"M":[]}`),
	"a list that is a map":          badValue(`{"L":{}}`),
	"a list of bare texts":          badValue(`{"L":["a"]}`),
	"no type in a list":             badValue(`{"L":[{"S":"a"},{}]}`),
	"a bad number in a map":         badValue(`{"M":{"a":{"L":[{"N":"--1"}]}}}`),
	"an empty set":                  badValue(`{"SS":[]}`),
	"a set with a member twice":     badValue(`{"SS":["a","b","a"]}`),
	"a number set with one twice":   badValue(`{"NS":["1","1.0"]}`),
	"a set of numbers that are not": badValue(`{"NS":[1]}`),
	"half a surrogate pair":         badValue(`{"S":"\ud800"}`),
	"a turned surrogate pair":       badValue(`{"S":"\udc00\ud800"}`),
	"no base64":                     badValue(`{"B":"a"}`),
	"base64 without padding":        badValue(`{"B":"YQ"}`),
	"base64 with a stray bit":       badValue(`{"B":"YR=="}`),
	"base64url":                     badValue(`{"B":"-_-_"}`),
	"40 levels":                     badValue(strings.Repeat(`{"L":[`, 40) + `{"S":"x"}` + strings.Repeat(`]}`, 40)),
	"an attribute twice":            badText(`{"S":"@@"}`, `{"S":"1"},"Damaged":{"S":"2"}`),
	"an escaped attribute twice":    badText(`{"S":"@@"}`, `{"S":"1"},"Dam\u0061ged":{"S":"2"}`),
	"invalid UTF-8":                 badText(`@@`, "a\xffb"),
	"UTF-8 of a surrogate":          badText(`@@`, "\xed\xa0\x80"),
	"overlong UTF-8":                badText(`@@`, "\xc0\xaf"),
	"no keys":                       without("Keys"),
	"empty keys":                    with("Keys", map[string]any{}),
	"keys that are a text":          with("Keys", "PK"),
	"three keys":                    with("Keys", map[string]any{"A": str("1"), "B": str("1"), "C": str("1")}),
	"a key that is a map":           with("Keys", map[string]any{"A": tagged("M", map[string]any{})}),
	"an empty key":                  with("Keys", map[string]any{"A": str("")}),
	"no sequence number":            without("SequenceNumber"),
	"an empty sequence number":      with("SequenceNumber", ""),
	"a sequence number of letters":  with("SequenceNumber", "12345678901234567890x"),
	"a negative sequence number":    with("SequenceNumber", "-100000000000000000000"),
	"a sequence number of 41":       with("SequenceNumber", strings.Repeat("1", 41)),
	"a bare sequence number":        with("SequenceNumber", number(12345)),
	"an image that is a list":       with("NewImage", []any{}),
	"a time that is a word":         with("ApproximateCreationDateTime", "yesterday"),
	"a time before all":             with("ApproximateCreationDateTime", number(-5)),
	"no stream part":                func(r map[string]any) []byte { delete(r, "dynamodb"); return marshal(r) },
	"a stream part that is a text":  func(r map[string]any) []byte { r["dynamodb"] = "x"; return marshal(r) },
	"no event name":                 func(r map[string]any) []byte { delete(r, "eventName"); return marshal(r) },
	"an event name that is a list":  func(r map[string]any) []byte { r["eventName"] = []any{}; return marshal(r) },
	"no image that must be there": func(r map[string]any) []byte {
		r["eventName"] = "INSERT"
		return without("NewImage")(r)
	},
	"an empty object": func(map[string]any) []byte { return []byte(`{}`) },
}

// brokenLines are damages that break the grammar of a line.
var brokenLines = map[string]func(record map[string]any) []byte{
	"a line cut short":           func(r map[string]any) []byte { b := marshal(r); return b[:len(b)*2/3] },
	"the end of a line":          func(r map[string]any) []byte { b := marshal(r); return append([]byte("}"), b[len(b)/3:]...) },
	"two lines grown in one":     func(r map[string]any) []byte { b := marshal(r); return append(b[:len(b)/2:len(b)/2], b...) },
	"a line with a head":         func(r map[string]any) []byte { return append([]byte("tail "), marshal(r)...) },
	"words":                      func(map[string]any) []byte { return []byte("panic: runtime error: index out of range") },
	"binary junk":                func(map[string]any) []byte { return []byte("\x00\x1f\x8b\xff\xfe{[\"\\\x80\x81") },
	"brackets":                   func(map[string]any) []byte { return []byte(`{"a":` + strings.Repeat("[", 100_000)) },
	"braces":                     func(map[string]any) []byte { return []byte(strings.Repeat(`{"a":`, 50_000)) },
	"a single quote":             func(map[string]any) []byte { return []byte(`"`) },
	"a control character":        badText(`@@`, "a\x01b"),
	"an unknown escape":          badText(`@@`, `\x41`),
	"a comma too many":           badText(`{"S":"@@"}`, `{"S":"@@"},`),
	"JavaScript":                 func(map[string]any) []byte { return []byte(`{eventName: 'INSERT', dynamodb: undefined}`) },
	"a number with a zero":       badText(`{"S":"@@"}`, `{"S":"@@"},"SizeBytes":007`),
	"a word that is not a value": func(map[string]any) []byte { return []byte(`nul`) },
}

// badValue returns a damage that puts an attribute with this value into the images.
func badValue(value string) func(map[string]any) []byte { return badText(`{"S":"@@"}`, value) }

// badText returns a damage that puts an attribute into the images and replaces a part of its JSON.
func badText(old, new string) func(map[string]any) []byte {
	return func(r map[string]any) []byte {
		s := r["dynamodb"].(map[string]any)
		for _, image := range []string{"NewImage", "OldImage"} {
			if it, ok := s[image].(map[string]any); ok {
				it["Damaged"] = str("@@")
			}
		}
		return bytes.ReplaceAll(marshal(r), []byte(old), []byte(new))
	}
}

func with(name string, v any) func(map[string]any) []byte {
	return func(r map[string]any) []byte { r["dynamodb"].(map[string]any)[name] = v; return marshal(r) }
}

func without(name string) func(map[string]any) []byte {
	return func(r map[string]any) []byte { delete(r["dynamodb"].(map[string]any), name); return marshal(r) }
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
