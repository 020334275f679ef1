package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// mixed is an input of documents of every shape, and what is known of it.
type mixed struct {
	t      *rapid.T
	text   strings.Builder
	begin  int       // where the document begins
	next   int       // number of the next record
	whole  []element // in their order
	broken []element // likewise
	odd    bool      // a comma too many or too few: told, and nothing is lost
}

// element is a record in the input.
type element struct {
	name     string // sequence number; "!": it is broken; unclosed: its end is missing
	from, to int
	document int // unclosed: where its document begins, whose brackets may close it and be missing themselves
}

const unclosed = "["

func (m *mixed) chance(percent int, what string) bool {
	return rapid.IntRange(0, 99).Draw(m.t, what) < percent
}

func (m *mixed) pick(what string, of ...string) string {
	return rapid.SampledFrom(of).Draw(m.t, what)
}

func (m *mixed) write(s string) { m.text.WriteString(s) }

// record writes a record: compact, or indented as by a prefix.
func (m *mixed) record(prefix string, indented bool) {
	text := recordJSON(m.next)
	m.next++
	if indented {
		text = indent(text, prefix)
	}
	from := m.text.Len()
	if m.chance(12, "broken") {
		text = m.hurt(text)
		m.broken = append(m.broken, element{name: "!", from: from, to: from + len(text)})
	} else {
		m.whole = append(m.whole, element{name: fmt.Sprint(m.next), from: from, to: from + len(text)})
	}
	m.write(text)
}

// hurt breaks the grammar of a record.
func (m *mixed) hurt(text string) string {
	switch m.pick("hurt", "cut", "cut in a text", "colon", "brace", "word") {
	case "cut":
		return strings.TrimRight(text[:rapid.IntRange(1, len(text)-1).Draw(m.t, "cut")], " \n")
	case "cut in a text":
		at := strings.Index(text, "item") + rapid.IntRange(0, 4).Draw(m.t, "cut")
		return text[:at]
	case "colon":
		return strings.Replace(text, `:`, ` `, 1)
	case "brace":
		return strings.TrimRight(text[:len(text)-1], " \n")
	}
	return "x" + text[1:]
}

func indent(text, prefix string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), prefix, "  "); err != nil {
		panic(err)
	}
	return b.String()
}

// brokenHere reports whether the document has a broken record. An element without its end after it has no certain end: the
// whole record in it may be told as a part of another one.
func (m *mixed) brokenHere() bool {
	return slices.ContainsFunc(m.broken, func(e element) bool { return e.from >= m.begin })
}

// elements writes what stands between the brackets of an array.
func (m *mixed) elements(prefix string, indented bool, one func()) {
	between := m.pick("between", ",", ",", ", ", ",\n", "\n,", ",\r\n")
	if indented {
		between = ",\n" + prefix
	}
	n := rapid.IntRange(0, 5).Draw(m.t, "elements")
	for i := range n {
		if i > 0 {
			if m.chance(3, "comma lost") {
				m.odd = true
				between = strings.Replace(between, ",", " ", 1)
			}
			m.write(between)
		}
		if m.chance(4, "an element without its end") && !m.brokenHere() {
			for range rapid.IntRange(1, 3).Draw(m.t, "nested") {
				from := m.text.Len()
				m.write(m.pick("unclosed", "[1,2,", "[", `["x",[3],`, `{"foo":[1,`, `[{"a":1},`, `{"foo":[`))
				m.broken = append(m.broken, element{unclosed, from, m.text.Len(), m.begin})
				m.write(m.pick("behind it", "\n", "\n"+prefix))
			}
			m.odd = true // what closes it may be missing elsewhere
		}
		one()
	}
	if n > 0 && m.chance(4, "trailing comma") {
		m.odd = true
		m.write(",")
	}
}

// array writes an array of records.
func (m *mixed) array(prefix string, indented bool) {
	end := "\n" + prefix + "]"
	if indented {
		m.write("[\n" + prefix + "  ")
	} else {
		m.write(m.pick("open", "[", "[", "[ ", "[\n"))
		end = m.pick("close", "]", "\n]")
	}
	m.elements(prefix+"  ", indented, func() { m.record(prefix+"  ", indented) })
	m.write(end)
}

// event writes a Lambda event or a GetRecords page.
func (m *mixed) event(prefix string, indented bool) {
	before, after := "", ""
	switch m.pick("envelope", "event", "answer", "the other way round", "window") {
	case "answer":
		after = `"NextShardIterator":"it"`
	case "the other way round":
		before = `"NextShardIterator":null`
	case "window":
		before, after = `"a":{"b":[1,2.5e3,{}]}`, `"shardId":"shardId-1","window":{"start":"x"}`
	}
	sep := ""
	if indented {
		sep = "\n" + prefix + "  "
	}
	m.write("{" + sep)
	if before != "" {
		m.write(before + "," + sep)
	}
	m.write(`"Records":`)
	m.array(prefix+"  ", indented)
	if after != "" {
		m.write("," + sep + after)
	}
	if indented {
		m.write("\n" + prefix)
	}
	m.write("}")
}

// document writes one document of any shape.
func (m *mixed) document() {
	m.begin = m.text.Len()
	indented := m.chance(40, "indented")
	switch m.pick("shape", "record", "record", "record", "event", "array", "array of events") {
	case "record":
		m.record("", indented)
	case "event":
		m.event("", indented)
	case "array":
		m.array("", indented)
	default:
		m.write("[")
		m.elements("", false, func() {
			if m.chance(80, "an event") {
				m.event("", false)
			} else {
				m.record("", false)
			}
		})
		m.write("]")
	}
}

// draw makes an input.
func drawMixed(t *rapid.T) *mixed {
	m := &mixed{t: t}
	if m.chance(20, "byte order mark") {
		m.write("\ufeff")
	}
	for range rapid.IntRange(1, 8).Draw(t, "documents") {
		broken := len(m.broken)
		m.document()
		if len(m.broken) == broken && m.chance(10, "on one line") {
			m.write(m.pick("between", "", " ", "\t"))
			continue
		}
		m.write(m.pick("line end", "\n", "\n", "\n", "\r\n", "\n\n", "\n \t\r\n"))
		if m.chance(3, "another file behind it") {
			m.write("\ufeff")
		}
	}
	return m
}
