package why

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

const keyUsage = `--key takes the item's key attributes, as in PK=USER#001,SK=PROFILE (a comma inside a value is written \,; PK:N=12 is a number, PK:B=AQI= a binary), or its canonical key, as explain prints it`

// itemKey is the key of an item as --key names it.
type itemKey struct {
	attributes item.Image // nothing where the canonical key was given, which has no names
	canonical  item.Key
}

// parseItemKey reads --key. Attributes whose type is neither written nor declared in
// the configuration are strings.
func parseItemKey(text string, cfg *config.Config, table string) (itemKey, error) {
	first, _, _ := strings.Cut(text, ",")
	if strings.Index(first, "=") < 1 { // in a canonical key, = begins a binary
		k := item.Key(text)
		if _, _, err := k.Decode(); err != nil {
			return itemKey{}, cli.Usagef("--key %q: %w; %s", text, err, keyUsage)
		}
		return itemKey{canonical: k}, nil
	}
	var json strings.Builder
	json.WriteByte('{')
	for i, part := range splitEscaped(text) {
		name, value, ok := strings.Cut(part, "=")
		name, kind, typed := strings.Cut(name, ":")
		if !ok || name == "" || value == "" {
			return itemKey{}, cli.Usagef("--key: %q is no attribute with a value; %s", part, keyUsage)
		}
		if !typed {
			kind = "S"
			if k, declared := cfg.Attributes[name]; declared {
				kind = k.String()
			}
		}
		v, err := keyValue(kind, value)
		if err != nil {
			return itemKey{}, cli.Usagef("--key: %s: %w; %s", name, err, keyUsage)
		}
		if i > 0 {
			json.WriteByte(',')
		}
		json.Write(item.StringValue(name).AppendJSON(nil))
		json.WriteByte(':')
		json.Write(v.AppendDynamoDBJSON(nil))
	}
	json.WriteByte('}')
	attributes, err := item.Parse([]byte(json.String()))
	if err != nil {
		return itemKey{}, cli.Usagef("--key: %w; %s", err, keyUsage)
	}
	key, err := item.MakeKey(table, attributes)
	if err != nil {
		return itemKey{}, cli.Usagef("--key: %w; %s", err, keyUsage)
	}
	return itemKey{attributes, key}, nil
}

// splitEscaped splits at commas without a backslash before them.
func splitEscaped(text string) []string {
	var parts []string
	var part strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == ',' || text[i+1] == '\\'):
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
