package replay

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"
)

// change has the parts of a record that the oracle uses.
type change struct {
	line      []byte
	key       string // canonical, as the documentation defines keys
	version   string
	op        string
	gone, ttl bool
	old, new  oracleItem
	keys      oracleItem
	second    int64 // creation time; 0 if the record has no number there
}

// oracleItem has attributes in DynamoDB JSON.
type oracleItem map[string]any

// readChanges reads lines of sound records.
func readChanges(lines [][]byte) ([]change, error) {
	var cs []change
	for i, line := range lines {
		c, err := readChange(line)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i+1, err)
		}
		cs = append(cs, c)
	}
	return cs, nil
}

func readChange(line []byte) (change, error) {
	var r struct {
		EventName      string
		EventSourceARN string
		UserIdentity   struct{ Type, PrincipalID string }
		Dynamodb       struct {
			Keys, NewImage, OldImage oracleItem
			SequenceNumber           string

			ApproximateCreationDateTime any
		}
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		return change{}, err
	}
	c := change{line: line, op: r.EventName, old: r.Dynamodb.OldImage, new: r.Dynamodb.NewImage, keys: r.Dynamodb.Keys}
	if at, ok := r.Dynamodb.ApproximateCreationDateTime.(json.Number); ok {
		c.second, _ = at.Int64()
	}
	c.gone = c.op == "REMOVE" || c.op != "INSERT" && c.op != "MODIFY" && c.old != nil && c.new == nil
	c.ttl = c.op == "REMOVE" && r.UserIdentity.Type == "Service" && r.UserIdentity.PrincipalID == "dynamodb.amazonaws.com"
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.keys)) {
		parts = append(parts, canonicalKeyPart(c.keys[name]))
	}
	c.key = strings.Join(parts, ",")
	epoch := int64(0)
	if _, label, ok := strings.Cut(r.EventSourceARN, "/stream/"); ok {
		at, err := time.Parse("2006-01-02T15:04:05.000", label)
		if err != nil {
			return change{}, err
		}
		epoch = at.Unix()
	}
	c.version = fmt.Sprintf("%010d%s", epoch, padded(r.Dynamodb.SequenceNumber))
	return c, nil
}

// padded returns a sequence number with 40 digits.
func padded(sequence string) string {
	n, _ := new(big.Int).SetString(sequence, 10)
	return fmt.Sprintf("%040s", n.String())
}

func canonicalKeyPart(v any) string {
	switch tag, x := untag(v); tag {
	case "N":
		return "+" + decimal(x.(string))
	case "B":
		raw, _ := base64.StdEncoding.DecodeString(x.(string))
		return "=" + base64.RawURLEncoding.EncodeToString(raw)
	default:
		return escaped(x.(string))
	}
}

// escaped returns a text in which all bytes but A-Z a-z 0-9 _ . - are % and two hexadecimal digits.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// decimal returns a number with all its digits and without an exponent.
func decimal(text string) string {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("no number: " + text)
	}
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
}

// untag returns the two parts of {"S": x}.
func untag(v any) (tag string, x any) {
	m, _ := v.(map[string]any)
	for tag, x := range m {
		return tag, x
	}
	return "", nil
}

// last returns the change of each item with the highest version, at any place in the stream.
func last(cs []change) map[string]change {
	newest := make(map[string]change)
	for _, c := range cs {
		if is, ok := newest[c.key]; !ok || cmp.Compare(is.version, c.version) <= 0 {
			newest[c.key] = c
		}
	}
	return newest
}

// canonical writes DynamoDB JSON so that equal values have equal texts.
func canonical(it oracleItem) string {
	if it == nil {
		return "none"
	}
	b, err := json.Marshal(canonicalMap(it))
	if err != nil {
		panic(err)
	}
	return string(b)
}

func canonicalMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for name, v := range m {
		out[name] = canonicalValue(v)
	}
	return out
}

func canonicalValue(v any) any {
	tag, x := untag(v)
	switch tag {
	case "N":
		x = decimal(x.(string))
	case "M":
		x = canonicalMap(x.(map[string]any))
	case "L":
		l := slices.Clone(x.([]any))
		for i := range l {
			l[i] = canonicalValue(l[i])
		}
		x = l
	case "SS", "NS", "BS":
		x = members(tag, x)
	}
	return map[string]any{tag: x}
}

// members returns the members of a set in a fixed order.
func members(tag string, x any) []string {
	var set []string
	for _, e := range x.([]any) {
		text := e.(string)
		if tag == "NS" {
			text = decimal(text)
		}
		set = append(set, text)
	}
	slices.Sort(set)
	return set
}

// plain returns a value as JSON without types. It converts numbers with the function number.
func plain(v any, number func(string) any) any {
	tag, x := untag(v)
	switch tag {
	case "N":
		return number(x.(string))
	case "NULL":
		return nil
	case "M":
		out := make(map[string]any)
		for name, v := range x.(map[string]any) {
			out[name] = plain(v, number)
		}
		return out
	case "L":
		out := []any{}
		for _, v := range x.([]any) {
			out = append(out, plain(v, number))
		}
		return out
	case "NS":
		out := []any{}
		for _, n := range members(tag, x) {
			out = append(out, number(n))
		}
		return out
	case "SS", "BS":
		out := []any{}
		for _, s := range members(tag, x) {
			out = append(out, s)
		}
		return out
	}
	return x
}

// allDigits returns a number as JSON with all digits.
func allDigits(text string) any { return json.Number(decimal(text)) }

// exactNumber returns a number as a document has it by default. A number with a fraction and more than 15 digits is a
// string.
func exactNumber(text string) any {
	d := decimal(text)
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(d, "-"), ".")
	if fraction != "" && len(strings.TrimLeft(whole+fraction, "0")) > 15 {
		return d
	}
	return json.Number(d)
}

// documentID returns the id of an item's document, which is the key of the item, or a digest of a long key.
func documentID(key string) string {
	if len(key) <= 512 {
		return key
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(key)))
}
