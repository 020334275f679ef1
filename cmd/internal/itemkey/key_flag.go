// Package itemkey reads the flag --key, which names an item.
package itemkey

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Usage explains the flag --key in errors.
const Usage = `--key takes the item's key attributes, as in PK=USER#001,SK=PROFILE (a comma inside a value is written \,; PK:N=12 is a number, PK:B=AQI= a binary), or its canonical key, as explain prints it`

// Key is the key of an item from --key.
type Key struct {
	Attributes item.Image // absent if --key is a canonical key, which has no names
	Canonical  item.Key
}

// Parse reads the text of --key. An attribute is a string if its type is neither written in the text nor declared in
// the configuration. table is the source table of the item; "" if it is unknown.
func Parse(text string, cfg *config.Config, table string) (Key, error) {
	hasTablePrefix := len(cfg.Source.Tables) > 1 // canonical keys begin with the name of their table
	if len(cfg.Source.Tables) == 1 {
		table = cfg.Source.Tables[0].Name
	}
	if isCanonical(text, cfg) {
		return parseCanonical(text, table, hasTablePrefix)
	}
	object := []byte{'{'}
	for _, part := range splitEscaped(text) {
		name, v, err := parseAttribute(part, cfg)
		if err != nil {
			return Key{}, err
		}
		object = item.AppendMember(object, name, v)
	}
	attributes, err := item.Parse(append(object, '}'))
	if err != nil {
		return Key{}, cli.Usagef("--key: %w; %s", err, Usage)
	}
	key, err := item.MakeKey(cli.Choose(hasTablePrefix, table, ""), attributes)
	if err != nil {
		return Key{}, cli.Usagef("--key: %w; %s", err, Usage)
	}
	return Key{attributes, key}, nil
}

// isCanonical reports whether the text of --key is a canonical key. There, = begins a binary value: the first value of
// the key, which may follow the name of a table.
func isCanonical(text string, cfg *config.Config) bool {
	first, _, _ := strings.Cut(text, ",")
	name, _, isAssigned := strings.Cut(first, "=")
	isPrefix := func(t config.Table) bool { return name == string(item.AppendEscaped(nil, t.Name))+"!" }
	return !isAssigned || name == "" || slices.ContainsFunc(cfg.Source.Tables, isPrefix)
}

// parseCanonical reads a canonical key. If table is known, the key may have the prefix of the table or not. The result
// has it if hasTablePrefix is true.
func parseCanonical(text, table string, hasTablePrefix bool) (Key, error) {
	named, _, err := item.Key(text).Decode()
	switch {
	case err != nil:
		return Key{}, cli.Usagef("--key %q: %w; %s", text, err, Usage)
	case table == "":
		return Key{Canonical: item.Key(text)}, nil
	case named != "" && named != table:
		return Key{}, cli.Usagef("--key %q is a key of the table %s, and not of %s", text, named, table)
	}
	key := text[strings.IndexByte(text, '!')+1:] // the values, without the prefix
	if hasTablePrefix {
		key = string(item.AppendEscaped(nil, table)) + "!" + key
	}
	return Key{Canonical: item.Key(key)}, nil
}

// parseAttribute reads NAME=VALUE or NAME:TYPE=VALUE.
func parseAttribute(text string, cfg *config.Config) (name string, v item.Value, err error) {
	beforeValue, value, _ := strings.Cut(text, "=")
	name, kind, hasType := strings.Cut(beforeValue, ":")
	if name == "" || value == "" {
		return "", v, cli.Usagef("--key: %q is not an attribute with a value; %s", text, Usage)
	}
	if !hasType {
		kind = "S"
		if k, declared := cfg.Attributes[name]; declared {
			kind = k.String()
		}
	}
	v, err = keyValue(kind, value)
	if err != nil {
		return name, v, cli.Usagef("--key: %s: %w; %s", name, err, Usage)
	}
	return name, v, nil
}

// Check returns an error if the key names an attribute that is not a key attribute of the table, or if the canonical
// key has another number of values. Such a key would never match. names are the key attributes; nil: they are unknown.
func (k Key) Check(names []string) error {
	if names == nil {
		return nil
	}
	for name := range k.Attributes.All() {
		if !slices.Contains(names, name) {
			return cli.Usagef("--key: %s is not a key attribute of the table, whose key is %s", name, strings.Join(names, ", "))
		}
	}
	isNameless := !k.Attributes.Exists() && k.Canonical != ""
	_, values, err := k.Canonical.Decode()
	if isNameless && err == nil && len(values) != len(names) {
		return cli.Usagef("--key: %s is not a key of the table, whose key is %s; %s", k.Canonical, strings.Join(names, ", "),
			Usage)
	}
	return nil
}

// Matches reports whether k selects a change. Attributes select the changes whose key has all of them, so a partition
// key selects all items of the partition. A canonical key is compared with the key of the change, and with the same key
// masked by m. The zero Key selects every change.
func (k Key) Matches(c *record.Change, m *mask.Mask) bool {
	if !k.Attributes.Exists() {
		return k.Canonical == "" || c.Key == k.Canonical || m.Key(c) == k.Canonical
	}
	for name, want := range k.Attributes.All() {
		if v, ok := c.Keys.Get(name); !ok || !v.Equal(want) {
			return false
		}
	}
	return true
}

// Nameless returns the values of a canonical key as attributes key1 and key2. These names are invented: the real names
// are unknown without a record or the table.
func Nameless(k item.Key) (item.Image, error) {
	_, values, err := k.Decode()
	if err != nil {
		return item.Image{}, err
	}
	object := []byte{'{'}
	for i, v := range values {
		object = item.AppendMember(object, fmt.Sprint("key", i+1), v)
	}
	return item.Parse(append(object, '}'))
}

// Change returns a change of an item, as if a stream had sent it. event is its eventName. The change is decoded with d,
// but belongs to no stream.
func Change(d record.DecoderOptions, event string, v record.ViewType, keys, image item.Image) (record.Change, error) {
	b := fmt.Appendf(nil, `{"eventName":%q,"dynamodb":{"SequenceNumber":"0","StreamViewType":%q,"Keys":`, event, v)
	b = keys.AppendDynamoDBJSON(b)
	if image.Exists() {
		b = image.AppendDynamoDBJSON(append(b, `,"NewImage":`...))
	}
	d.StreamARN, d.EpochZero = "", true
	return record.OneChange(record.NewDecoder(d).Decode(append(b, "}}"...)))
}

// splitEscaped splits a text at commas. A backslash makes a comma or backslash that follows it part of the text.
func splitEscaped(text string) []string {
	var parts []string
	var part strings.Builder
	for i := 0; i < len(text); i++ {
		isEscape := strings.HasPrefix(text[i:], `\,`) || strings.HasPrefix(text[i:], `\\`)
		switch {
		case isEscape:
			i++
			part.WriteByte(text[i])
		case text[i] == ',':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(text[i])
		}
	}
	return append(parts, part.String())
}

func keyValue(kind, text string) (item.Value, error) {
	switch kind {
	case "S":
		return item.StringValue(text), nil
	case "N":
		d, err := decimal.Parse(text)
		return item.NumberValue(d), err
	case "B":
		b, err := base64.StdEncoding.DecodeString(text)
		return item.BinaryValue(b), err
	}
	return item.Value{}, fmt.Errorf("a key attribute is an S, an N or a B, not %q", kind)
}
