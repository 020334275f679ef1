package pipelinetest

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"
)

// DynamoJSON draws DynamoDB JSON in all spellings that JSON allows.
type DynamoJSON struct{ *rapid.T }

// Space draws white space. It mostly draws "".
func (g DynamoJSON) Space() string {
	return rapid.SampledFrom([]string{"", "", "", "", " ", "\n    ", "\t", "\r\n"}).Draw(g.T, "space")
}

var texts = rapid.OneOf(
	rapid.StringMatching(`[A-Za-z0-9#_ -]{0,24}`),
	rapid.String(),
	rapid.SampledFrom([]string{"", `"`, `\`, "\x00", "\u2028", "Zürich", "日本語のテキスト", "🦊🦊", "a\"b\\c/d\b\f\n\r\t", "<&>",
		"1"}),
)

// Quote returns a text as a JSON string. In one of ten draws, it escapes every rune.
func (g DynamoJSON) Quote(s string) string {
	escapeAll := rapid.IntRange(0, 9).Draw(g.T, "escapes") == 0
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n' && !escapeAll:
			b.WriteString(`\n`)
		case r == '/' && escapeAll:
			b.WriteString(`\/`)
		case r < ' ' || escapeAll && r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		case escapeAll:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Text draws a JSON string.
func (g DynamoJSON) Text() string { return g.Quote(texts.Draw(g.T, "text")) }

func (g DynamoJSON) number() string {
	return g.Quote(rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,37})`),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,17})\.[0-9]{1,19}`),
		rapid.StringMatching(`-?[1-9](\.[0-9]{1,20})?[eE][+-]?(1[01]?[0-9]|[0-9]{1,2})`),
	).Draw(g.T, "number"))
}

func (g DynamoJSON) binary() string {
	b := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(g.T, "binary")
	return g.Quote(base64.StdEncoding.EncodeToString(b))
}

// List returns the members between brackets, with commas and white space.
func (g DynamoJSON) List(opening, closing string, members []string) string {
	return opening + g.Space() + strings.Join(members, g.Space()+","+g.Space()) + g.Space() + closing
}

// set draws a set of different members.
func (g DynamoJSON) set(member *rapid.Generator[string]) string {
	members := rapid.SliceOfNDistinct(member, 1, 20, rapid.ID).Draw(g.T, "set")
	for i, m := range members {
		members[i] = g.Quote(m)
	}
	return g.List("[", "]", members)
}

// Value draws a value of any of the ten types, with up to depth levels of maps and lists.
func (g DynamoJSON) Value(depth int) string {
	kinds := []string{"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "M", "L"}
	if depth == 0 {
		kinds = kinds[:8]
	}
	kind := rapid.SampledFrom(kinds).Draw(g.T, "kind")
	var payload string
	switch kind {
	case "S":
		payload = g.Text()
	case "N":
		payload = g.number()
	case "B":
		payload = g.binary()
	case "BOOL":
		payload = rapid.SampledFrom([]string{"true", "false"}).Draw(g.T, "bool")
	case "NULL":
		payload = "true"
	case "SS":
		payload = g.set(texts)
	case "NS":
		payload = g.set(rapid.StringMatching(`-?[1-9][0-9]{0,5}`))
	case "BS":
		payload = g.set(rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), base64.StdEncoding.EncodeToString))
	case "M":
		payload = g.Item(rapid.IntRange(0, 5).Draw(g.T, "members"), depth-1)
	case "L":
		elements := make([]string, rapid.IntRange(0, 4).Draw(g.T, "elements"))
		for i := range elements {
			elements[i] = g.Value(depth - 1)
		}
		payload = g.List("[", "]", elements)
	}
	return "{" + g.Space() + `"` + kind + `"` + g.Space() + ":" + g.Space() + payload + g.Space() + "}"
}

// Item draws an item with n attributes. extra has the JSON of further attributes, each with its name.
func (g DynamoJSON) Item(n, depth int, extra ...string) string {
	names := rapid.SliceOfNDistinct(rapid.OneOf(rapid.StringMatching(`[A-Za-z][A-Za-z0-9_-]{0,11}`),
		rapid.StringN(1, 8, -1)), n, n, rapid.ID).Draw(g.T, "names")
	var members []string
	for _, name := range names {
		if name != "PK" && name != "SK" {
			members = append(members, g.Quote(name)+g.Space()+":"+g.Space()+g.Value(depth))
		}
	}
	return g.List("{", "}", append(extra, members...))
}

// Event draws a Lambda event with n records. A GetRecords answer has the same form.
func (g DynamoJSON) Event(n int) string {
	records := make([]string, n)
	for i := range records {
		key := `"PK":{"S":` + g.Quote("USER#"+rapid.StringMatching(`[a-zé]{1,8}`).Draw(g.T, "pk")) + `}`
		sort := `"SK":{"N":"` + fmt.Sprint(rapid.IntRange(-5, 5).Draw(g.T, "sk")) + `"}`
		keys := g.List("{", "}", rapid.Permutation([]string{key, sort}).Draw(g.T, "keys"))
		image := func() string { return g.Item(rapid.IntRange(0, 6).Draw(g.T, "attributes"), 3, key, sort) }
		name := rapid.SampledFrom([]string{"INSERT", "MODIFY", "REMOVE"}).Draw(g.T, "operation")
		stream := []string{
			`"Keys":` + keys,
			fmt.Sprintf(`"SequenceNumber":"%027d"`, i+1),
			fmt.Sprintf(`"SizeBytes":%d`, rapid.IntRange(0, 800<<10).Draw(g.T, "size")),
			`"StreamViewType":"NEW_AND_OLD_IMAGES"`,
			`"ApproximateCreationDateTime":` + rapid.SampledFrom([]string{"1795251660", "1.79525166E9",
				"1795251660.0"}).Draw(g.T, "time"),
		}
		if name != "INSERT" {
			stream = append(stream, `"OldImage":`+image())
		}
		if name != "REMOVE" {
			stream = append(stream, `"NewImage":`+image())
		}
		record := []string{
			`"eventName":"` + name + `"`,
			fmt.Sprintf(`"eventID":"%032x"`, i),
			`"eventVersion":"1.1"`,
			`"awsRegion":"eu-west-1"`,
			`"eventSource":"aws:dynamodb"`,
			`"dynamodb":` + g.List("{", "}", rapid.Permutation(stream).Draw(g.T, "stream fields")),
		}
		if rapid.Bool().Draw(g.T, "ttl") {
			record = append(record,
				`"userIdentity":{"type":"Service","Type":"Service","principalId":"dynamodb.amazonaws.com","PrincipalId":"dynamodb.amazonaws.com"}`)
		}
		records[i] = g.List("{", "}", rapid.Permutation(record).Draw(g.T, "fields"))
	}
	return g.Space() + g.List("{", "}", []string{`"Records":` + g.List("[", "]", records)})
}

// AttributeNames has names of the struct fields in tests, and other names.
var AttributeNames = []string{
	"s", "n", "b", "a", "m", "l", "at", "Text", "Total", "count", "size", "small", "price", "weight", "ok", "active",
	"data",
	"created", "exact", "NAME", "tags", "sizes", "keys", "lines", "list", "two", "ints", "floats", "bools", "texts", "bad",
	"deep", "Address", "city", "Plain", "Hidden", "quiet", "1", "-2", "300", "2.5", "true", "first-name", "ſ", "é\"\\\n<",
}

var attributeTexts = []string{"", "x", "2024-01-02T03:04:05Z", "2024-01-02T03:04:05.678+02:00", "12", "-7", "1.5",
	"true", "é\"\n<>\u2028", "🦆"}

var attributeNumbers = []string{
	"0", "1", "-1", "12", "127", "128", "255", "256", "70000", "4294967296", "9223372036854775807", "9223372036854775808",
	"18446744073709551615", "1.5", "-0.25", "1.0", "1E+3", "1700000000", "99999999999999999999999999999999999999",
	"1E-130", "9.9E+125", "3.5E+38",
}

// DrawAttribute draws a value of any type.
func DrawAttribute(t *rapid.T, depth int) types.AttributeValue {
	kinds := 9
	if depth == 0 {
		kinds = 7
	}
	number := rapid.SampledFrom(attributeNumbers)
	binary := rapid.SliceOfN(rapid.Byte(), 0, 6)
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return &types.AttributeValueMemberS{Value: rapid.SampledFrom(attributeTexts).Draw(t, "s")}
	case 1:
		return &types.AttributeValueMemberN{Value: number.Draw(t, "n")}
	case 2:
		return &types.AttributeValueMemberB{Value: binary.Draw(t, "b")}
	case 3:
		return &types.AttributeValueMemberBOOL{Value: rapid.Bool().Draw(t, "bool")}
	case 4:
		return &types.AttributeValueMemberNULL{Value: true}
	case 5:
		return &types.AttributeValueMemberSS{Value: rapid.SliceOfNDistinct(rapid.SampledFrom(attributeTexts), 1, 4,
			rapid.ID).Draw(t, "ss")}
	case 6:
		return &types.AttributeValueMemberNS{Value: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "300", "-4",
			"0.5"}), 1, 4, rapid.ID).Draw(t, "ns")}
	case 7:
		return &types.AttributeValueMemberBS{Value: rapid.SliceOfNDistinct(binary, 1, 3,
			func(b []byte) string { return string(b) }).Draw(t, "bs")}
	case 8:
		l := make([]types.AttributeValue, rapid.IntRange(0, 4).Draw(t, "len"))
		alike := rapid.Bool().Draw(t, "alike")
		for i := range l {
			if l[i] = DrawAttribute(t, depth-1); alike {
				l[i] = l[0]
			}
		}
		return &types.AttributeValueMemberL{Value: l}
	default:
		return &types.AttributeValueMemberM{Value: DrawItem(t, depth-1)}
	}
}

// DrawItem draws an item.
func DrawItem(t *rapid.T, depth int) map[string]types.AttributeValue {
	// Package attributevalue handles names that differ only in case in random order.
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(AttributeNames), 0, 8, strings.ToLower).Draw(t, "names")
	item := map[string]types.AttributeValue{}
	for _, name := range names {
		if name == "ſ" && item["s"] != nil || name == "s" && item["ſ"] != nil {
			continue // the two names are equal for strings.EqualFold
		}
		item[name] = DrawAttribute(t, depth)
	}
	return item
}
