package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
)

// mixed is an input of documents of every shape, and what is known of it.
type mixed struct {
	t      *rapid.T
	text   strings.Builder
	next   int       // number of the next record
	whole  []element // in their order
	broken []element // likewise
	odd    bool      // a comma too many or too few: told, and nothing is lost
}

// element is a record in the input.
type element struct {
	name     string // sequence number
	from, to int
}

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
		m.broken = append(m.broken, element{"!", from, from + len(text)})
	} else {
		m.whole = append(m.whole, element{fmt.Sprint(m.next), from, from + len(text)})
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

// pieces reads in random sizes.
type pieces struct {
	r   io.Reader
	rng *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(b) > 1 && p.rng.IntN(3) > 0 {
		b = b[:1+p.rng.IntN(min(len(b), 3000))]
	}
	return p.r.Read(b)
}

// readMixed reads text as standard input.
func readMixed(t *rapid.T, text string, most int) got {
	blocks := []int{1, 300, 5000, 0}
	if most > 0 {
		blocks = blocks[:3] // what is in a block is not over any bound
	}
	s, err := Open(Options{
		Paths:      []string{"-"},
		Stdin:      &pieces{strings.NewReader(text), rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "sizes"), 1))},
		BlockBytes: rapid.SampledFrom(blocks).Draw(t, "block"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if most > 0 {
		s.most = most
	}
	var g got
	for {
		p, err := s.Read(t.Context())
		if errors.Is(err, io.EOF) {
			return g
		}
		if err != nil {
			g.err = err
			return g
		}
		d, err := p.Decode()
		if err != nil {
			t.Fatalf("decoding: %v", err)
		}
		records := make([]string, len(d.Changes)+len(d.Errors))
		for _, c := range d.Changes {
			records[c.Index] = c.Sequence
		}
		for _, e := range d.Errors {
			records[e.Index] = "!"
		}
		g.sequences = append(g.sequences, records...)
		g.errs = append(g.errs, d.Errors...)
	}
}

// check compares what was read with what is known of the input.
func (m *mixed) check(t *rapid.T, text string, g got) {
	read := slices.DeleteFunc(slices.Clone(g.sequences), func(s string) bool { return s == "!" })
	var want []string
	for _, e := range m.whole {
		want = append(want, e.name)
	}
	if diff := cmp.Diff(want, append([]string(nil), read...)); diff != "" {
		t.Fatalf("whole records (-want +read):\n%s\n%v\n%v\nin\n%s", diff, g.errs, g.err, shown(text))
	}
	for _, b := range m.broken {
		if !told(g, text, b) {
			t.Fatalf("nobody is told of the broken record at byte %d, line %d:\n%s\nonly of %v\n%v\nin\n%s", b.from, lineOf(text, b.from), shown(text[b.from:b.to]), g.errs, g.err, shown(text))
		}
	}
	if m.odd && len(g.errs) == 0 && g.err == nil {
		t.Fatalf("nobody is told of commas in\n%s", shown(text))
	}
	if !m.odd && len(m.broken) == 0 && (len(g.errs) > 0 || g.err != nil) {
		t.Fatalf("a sound input has errors: %v\n%v\nin\n%s", g.errs, g.err, shown(text))
	}
	for _, e := range g.errs {
		place, ok := errors.AsType[*PlaceError](e.Err)
		if !ok || place.File != "-" || place.Line != int64(lineOf(text, int(place.Offset))) {
			t.Fatalf("%v has no place, or a wrong one: line %d is %d, in\n%s", e, place.Line, lineOf(text, int(place.Offset)), shown(text))
		}
	}
}

// told says whether an error shows the broken record, or says that it was not read.
func told(g got, text string, b element) bool {
	if slices.ContainsFunc(g.errs, func(e *pipeline.RecordError) bool {
		return bytes.Contains(e.Raw, []byte(strings.TrimRight(text[b.from:b.to], ", \r\n")))
	}) {
		return true
	}
	broken, ok := errors.AsType[*BrokenError](g.err)
	return ok && slices.ContainsFunc(broken.Files, func(f *FileError) bool {
		return f.Offset >= int64(b.from) && f.Offset <= int64(b.to) || f.Unread > 0 && f.Offset <= int64(b.from) && f.Offset+f.Unread >= int64(b.to)
	})
}

// shown is text for people, its long lines shortened.
func shown(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if len(line) > 3000 {
			lines[i] = fmt.Sprintf("%s... (%d bytes) ...%s", line[:200], len(line), line[len(line)-200:])
		}
	}
	return strings.Join(lines, "\n")
}

func lineOf(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }

// Documents of every shape in every order: each whole record is read once and in order,
// each broken one is told with its place, and nothing else is told.
func TestMixedShapes(t *testing.T) { rapid.Check(t, mixedShapes) }

func FuzzMixedShapes(f *testing.F) { f.Fuzz(rapid.MakeFuzz(mixedShapes)) }

func mixedShapes(t *rapid.T) {
	m := drawMixed(t)
	text := m.text.String()
	if markerless(text) {
		return
	}
	m.check(t, text, readMixed(t, text, 0))
}

// Input that is cut anywhere brings what stands whole before the cut, and says that it was cut.
func TestMixedShapes_Cut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMixed(t)
		whole := m.text.String()
		text := whole[:rapid.IntRange(0, len(whole)).Draw(t, "cut")]
		var in []element // cut through
		within := func(es []element) []element {
			return slices.DeleteFunc(es, func(e element) bool {
				if e.from < len(text) && len(text) < e.to {
					in = append(in, element{"!", e.from, len(text)})
				}
				return e.to > len(text)
			})
		}
		m.whole, m.broken = within(m.whole), within(m.broken)
		m.broken = append(m.broken, in...)
		if markerless(text) {
			return
		}
		g := readMixed(t, text, 0)
		if g.err != nil || len(g.errs) > 0 {
			m.odd = true // the end of an array or event is missing
		}
		m.odd = m.odd && (len(g.errs) > 0 || g.err != nil)
		m.check(t, text, g)
	})
}

// markerless tells whether nothing in text shows that it holds records.
func markerless(text string) bool {
	return !slices.ContainsFunc(markers, func(s string) bool { return strings.Contains(text, s) })
}

// Compressed input that is cut anywhere brings whole records in their order, and says that it was cut short.
func TestMixedShapes_CompressedAndCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMixed(t)
		text := m.text.String()
		pack := gzipped
		if m.chance(50, "zstd") {
			pack = zstandard
		}
		at := rapid.IntRange(0, len(text)).Draw(t, "members")
		packed := pack(t, text[:at]) + pack(t, text[at:])
		if markerless(text) {
			return
		}
		m.check(t, text, readMixed(t, packed, 0))

		first := len(pack(t, text[:at]))
		cut := rapid.IntRange(4, len(packed)-1).Draw(t, "cut")
		if cut == first {
			return // between two members nobody can tell
		}
		g := readMixed(t, packed[:cut], 0)
		read := slices.DeleteFunc(slices.Clone(g.sequences), func(s string) bool { return s == "!" })
		for i, s := range read {
			if i >= len(m.whole) || m.whole[i].name != s {
				t.Fatalf("cut at %d of %d: read %v of\n%s", cut, len(packed), read, shown(text))
			}
		}
		if g.err == nil || !strings.Contains(g.err.Error(), "cut short") || !strings.Contains(g.err.Error(), "-:") {
			t.Fatalf("cut at %d of %d: %v, want an error with \"cut short\" and the file", cut, len(packed), g.err)
		}
	})
}

// A line over the bound is told, and costs nothing else.
func TestMixedShapes_LinesOverTheBound(t *testing.T) {
	const most = 8000
	rapid.Check(t, func(t *rapid.T) {
		m := &mixed{t: t}
		for range rapid.IntRange(1, 4).Draw(t, "lines") {
			for range rapid.IntRange(0, 3).Draw(t, "documents") {
				m.document()
				m.write("\n")
			}
			long := strings.Replace(recordJSON(m.next), "item", strings.Repeat(m.pick("of", "x", `\"{`, "{ ", `é`), 6*most), 2)
			m.next++
			name := fmt.Sprint(m.next)
			switch m.pick("long", "record", "cut", "word", "in an array") {
			case "record":
			case "cut":
				long = long[:10*most]
			case "word":
				long = strings.Repeat("x", 10*most)
			case "in an array":
				m.write("[")
				m.record("", false)
				m.write(",\n")
				from := m.text.Len()
				m.write(long)
				m.broken = append(m.broken, element{name, from, m.text.Len()})
				m.write(",\n")
				m.record("", false)
				m.write("]\n")
				continue
			}
			from := m.text.Len()
			m.write(long)
			m.broken = append(m.broken, element{name, from, m.text.Len()})
			m.write("\n")
		}
		m.record("", false)
		text := m.text.String()
		if markerless(text) {
			return
		}
		g := readMixed(t, text, most)
		m.broken = slices.DeleteFunc(m.broken, func(e element) bool { // what is in memory already may be read
			i := slices.Index(g.sequences, e.name)
			if e.name == "!" || i < 0 {
				return false
			}
			g.sequences = slices.Delete(g.sequences, i, i+1)
			return true
		})
		m.check(t, text, g)
	})
}
