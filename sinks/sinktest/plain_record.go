package sinktest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// Attr is an attribute value in DynamoDB JSON: {"S": "x"}, {"N": "1"}, {"B": "base64"}, {"BOOL": true}, {"NULL": true},
// {"M": Item}, {"L": []Attr}, {"SS": []string}, {"NS": []string}, {"BS": []string}.
type Attr map[string]any

// Item is an item in plain Go.
type Item map[string]Attr

// Text returns the text of the attribute name if it is an S, and "" otherwise.
func (it Item) Text(name string) string {
	s, _ := it[name]["S"].(string)
	return s
}

// Number returns the number of the attribute name, as it was sent, if it is an N, and "" otherwise.
func (it Item) Number(name string) string {
	n, _ := it[name]["N"].(string)
	return n
}

// Decode adds the attributes of b to the item. b is an item in DynamoDB JSON, as a store's reader may return it.
func (it Item) Decode(b []byte) error { return json.Unmarshal(b, &it) }

// Record is one record of a stream in plain Go.
type Record struct {
	EventName string // INSERT, MODIFY, REMOVE; SNAPSHOT for a backfilled state; or an undocumented name
	Keys      Item
	Old, New  Item // nil if the record has no such image
	TTL       bool // the TTL process removed the item
	Sequence  string
	Second    int64  // approximate creation time, epoch seconds
	ViewType  string // Default: NEW_AND_OLD_IMAGES
	EpochZero bool   // the record is a backfilled state, and its stream is unknown
}

// Removed reports whether the item does not exist after the record.
func (r Record) Removed() bool { return r.New == nil }

// KeyText returns the item's key as text. Records of the same item have the same text.
func (r Record) KeyText() string { return Canonical(r.Keys) }

// StreamARN is the stream of all records.
const StreamARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"

// Table is the table of all records.
const Table = "shop"

// epoch is the time of the stream's label in Unix seconds.
const epoch = 1767323045

// JSON returns the record as a stream sends it.
func (r Record) JSON() []byte {
	body := map[string]any{
		"ApproximateCreationDateTime": r.Second,
		"Keys":                        r.Keys,
		"SequenceNumber":              r.Sequence,
		"SizeBytes":                   100,
		"StreamViewType":              cmp.Or(r.ViewType, "NEW_AND_OLD_IMAGES"),
	}
	if r.Old != nil {
		body["OldImage"] = r.Old
	}
	if r.New != nil {
		body["NewImage"] = r.New
	}
	record := map[string]any{
		"eventID":        fmt.Sprintf("%x", r.Sequence),
		"eventName":      r.EventName,
		"eventVersion":   "1.1",
		"eventSource":    "aws:dynamodb",
		"awsRegion":      "eu-central-1",
		"dynamodb":       body,
		"eventSourceARN": StreamARN,
	}
	if r.TTL {
		record["userIdentity"] = map[string]string{"type": "Service", "principalId": "dynamodb.amazonaws.com"}
	}
	return mustJSON(record)
}

// Canonical returns v as JSON. Equal DynamoDB values have equal JSON: members are sorted by name, sets are sorted, and
// numbers are written by value. v is an Item, an Attr, or a result of encoding/json for DynamoDB JSON.
func Canonical(v any) string {
	var plain any
	if err := json.Unmarshal(mustJSON(v), &plain); err != nil {
		panic(err) // mustJSON has just encoded it
	}
	return string(mustJSON(canonical(plain)))
}

// CanonicalJSON returns the result of [Canonical] for a JSON document.
func CanonicalJSON(b []byte) (string, error) {
	var plain any
	if err := json.Unmarshal(b, &plain); err != nil {
		return "", fmt.Errorf("%w in %q", err, b)
	}
	return Canonical(plain), nil
}

func canonical(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = canonical(v[i])
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch member := v[name].(type) {
			case string:
				if name == "N" {
					v[name] = exactFraction(member)
				}
			case []any:
				v[name] = canonicalList(name, member)
			default:
				v[name] = canonical(member)
			}
		}
	}
	return v
}

// canonicalList returns the canonical form of the member tag of an object, which is a list or a set. It sorts the
// members of a set. A list keeps its order.
func canonicalList(tag string, list []any) any {
	isSet := tag == "SS" || tag == "NS" || tag == "BS"
	texts := make([]string, 0, len(list))
	for _, m := range list {
		s, isText := m.(string)
		if !isText {
			return canonical(list)
		}
		if tag == "NS" {
			s = exactFraction(s)
		}
		texts = append(texts, s)
	}
	if isSet {
		slices.Sort(texts)
	}
	return texts
}

// exactFraction returns a number as an exact fraction.
func exactFraction(n string) string {
	r, ok := new(big.Rat).SetString(n)
	if !ok {
		return "no number: " + n
	}
	return r.RatString()
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps, slices, strings and booleans always encode
	}
	return b
}
