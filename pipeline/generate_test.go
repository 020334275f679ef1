package pipeline_test

import (
	"encoding/base64"
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// dynamoJSON draws DynamoDB JSON in all the spellings that JSON allows.
type dynamoJSON struct{ *rapid.T }

// space is white space, mostly none.
func (g dynamoJSON) space() string {
	return rapid.SampledFrom([]string{"", "", "", "", " ", "\n    ", "\t", "\r\n"}).Draw(g.T, "space")
}

var texts = rapid.OneOf(
	rapid.StringMatching(`[A-Za-z0-9#_ -]{0,24}`),
	rapid.String(),
	rapid.SampledFrom([]string{"", `"`, `\`, "\x00", "\u2028", "Zürich", "日本語のテキスト", "🦊🦊", "a\"b\\c/d\b\f\n\r\t", "<&>", "1"}),
)

// quote spells a text as a JSON string, with escapes where it likes.
func (g dynamoJSON) quote(s string) string {
	eager := rapid.IntRange(0, 9).Draw(g.T, "escapes") == 0
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n' && !eager:
			b.WriteString(`\n`)
		case r == '/' && eager:
			b.WriteString(`\/`)
		case r < ' ' || eager && r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		case eager:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// text draws a quoted text.
func (g dynamoJSON) text() string { return g.quote(texts.Draw(g.T, "text")) }

func (g dynamoJSON) number() string {
	return g.quote(rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,37})`),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,17})\.[0-9]{1,19}`),
		rapid.StringMatching(`-?[1-9](\.[0-9]{1,20})?[eE][+-]?(1[01]?[0-9]|[0-9]{1,2})`),
	).Draw(g.T, "number"))
}

func (g dynamoJSON) binary() string {
	b := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(g.T, "binary")
	return g.quote(base64.StdEncoding.EncodeToString(b))
}

// list spells what comes between brackets.
func (g dynamoJSON) list(opening, closing string, members []string) string {
	return opening + g.space() + strings.Join(members, g.space()+","+g.space()) + g.space() + closing
}

// set draws distinct members by their meaning.
func (g dynamoJSON) set(member *rapid.Generator[string]) string {
	members := rapid.SliceOfNDistinct(member, 1, 20, rapid.ID).Draw(g.T, "set")
	for i, m := range members {
		members[i] = g.quote(m)
	}
	return g.list("[", "]", members)
}

// value draws a value of any of the ten types.
func (g dynamoJSON) value(depth int) string {
	kinds := []string{"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "M", "L"}
	if depth == 0 {
		kinds = kinds[:8]
	}
	kind := rapid.SampledFrom(kinds).Draw(g.T, "kind")
	var payload string
	switch kind {
	case "S":
		payload = g.text()
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
		payload = g.item(rapid.IntRange(0, 5).Draw(g.T, "members"), depth-1)
	case "L":
		elements := make([]string, rapid.IntRange(0, 4).Draw(g.T, "elements"))
		for i := range elements {
			elements[i] = g.value(depth - 1)
		}
		payload = g.list("[", "]", elements)
	}
	return "{" + g.space() + `"` + kind + `"` + g.space() + ":" + g.space() + payload + g.space() + "}"
}

// item draws n attributes, and those of extra beside them.
func (g dynamoJSON) item(n, depth int, extra ...string) string {
	names := rapid.SliceOfNDistinct(rapid.OneOf(rapid.StringMatching(`[A-Za-z][A-Za-z0-9_-]{0,11}`), rapid.StringN(1, 8, -1)), n, n, rapid.ID).Draw(g.T, "names")
	var members []string
	for _, name := range names {
		if name != "PK" && name != "SK" {
			members = append(members, g.quote(name)+g.space()+":"+g.space()+g.value(depth))
		}
	}
	return g.list("{", "}", append(extra, members...))
}

// event draws n records, as an event or an answer holds them.
func (g dynamoJSON) event(n int) string {
	records := make([]string, n)
	for i := range records {
		key := `"PK":{"S":` + g.quote("USER#"+rapid.StringMatching(`[a-zé]{1,8}`).Draw(g.T, "pk")) + `}`
		sort := `"SK":{"N":"` + fmt.Sprint(rapid.IntRange(-5, 5).Draw(g.T, "sk")) + `"}`
		keys := g.list("{", "}", rapid.Permutation([]string{key, sort}).Draw(g.T, "keys"))
		image := func() string { return g.item(rapid.IntRange(0, 6).Draw(g.T, "attributes"), 3, key, sort) }
		name := rapid.SampledFrom([]string{"INSERT", "MODIFY", "REMOVE"}).Draw(g.T, "operation")
		stream := []string{
			`"Keys":` + keys,
			fmt.Sprintf(`"SequenceNumber":"%027d"`, i+1),
			fmt.Sprintf(`"SizeBytes":%d`, rapid.IntRange(0, 800<<10).Draw(g.T, "size")),
			`"StreamViewType":"NEW_AND_OLD_IMAGES"`,
			`"ApproximateCreationDateTime":` + rapid.SampledFrom([]string{"1795251660", "1.79525166E9", "1795251660.0"}).Draw(g.T, "time"),
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
			`"dynamodb":` + g.list("{", "}", rapid.Permutation(stream).Draw(g.T, "stream fields")),
		}
		if rapid.Bool().Draw(g.T, "ttl") {
			record = append(record, `"userIdentity":{"type":"Service","Type":"Service","principalId":"dynamodb.amazonaws.com","PrincipalId":"dynamodb.amazonaws.com"}`)
		}
		records[i] = g.list("{", "}", rapid.Permutation(record).Draw(g.T, "fields"))
	}
	return g.space() + g.list("{", "}", []string{`"Records":` + g.list("[", "]", records)})
}
