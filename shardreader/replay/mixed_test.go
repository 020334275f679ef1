package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/pipeline/record"
)

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
		s.maxRecord = most
	}
	return readAll(t, s)
}

// check compares the result with the known content of the input.
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
		if !m.told(g, text, b) {
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
		place, ok := errors.AsType[*LocationError](e.Err)
		if !ok || place.File != "-" || place.Line != int64(lineOf(text, int(place.Offset))) {
			t.Fatalf("%v has no place, or a wrong one: line %d is %d, in\n%s", e, place.Line, lineOf(text, int(place.Offset)), shown(text))
		}
	}
}

// isCutOff says whether the input ends within the broken record: it is open at its end, and no whole record follows it.
func (m *mixed) isCutOff(text string, b element) bool {
	isOpen := inputs.CheckEnd([]byte(text[b.from:b.to])) != nil
	return isOpen && !slices.ContainsFunc(m.whole, func(e element) bool { return e.from >= b.to })
}

// told says whether an error shows the broken record, or says that it was not read. The error of an input that was cut
// has the offset of its end.
func (m *mixed) told(g got, text string, b element) bool {
	if slices.ContainsFunc(g.errs, func(e *record.RecordError) bool {
		place, ok := errors.AsType[*LocationError](e.Err)
		return bytes.Contains(e.Raw, []byte(strings.TrimRight(text[b.from:b.to], ", \r\n"))) ||
			ok && b.name == unclosed && int64(b.document) <= place.Offset
	}) {
		return true
	}
	broken, ok := errors.AsType[*BrokenError](g.err)
	return ok && slices.ContainsFunc(broken.Files, func(f *FileError) bool {
		isCutAtEnd := errors.Is(f.Err, inputs.ErrCut) && f.Offset == int64(len(text))
		return isCutAtEnd && m.isCutOff(text, b) || b.name == unclosed && (f.More > 0 || f.Offset >= int64(b.document)) || f.Offset >= int64(b.from) && f.Offset <= int64(b.to) || f.Unread > 0 && f.Offset <= int64(b.from) && f.Offset+f.Unread >= int64(b.to)
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

// Documents of every shape in every order: each complete record is read once and in order, each broken one is reported
// with its place, and nothing else is reported.
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
					in = append(in, element{name: "!", from: e.from, to: len(text)})
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

// markerless reports whether nothing in text shows that it holds records.
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
			return // unknown between two members
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

// A line over the bound is reported, and costs nothing else.
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
				m.broken = append(m.broken, element{name: name, from: from, to: m.text.Len()})
				m.write(",\n")
				m.record("", false)
				m.write("]\n")
				continue
			}
			from := m.text.Len()
			m.write(long)
			m.broken = append(m.broken, element{name: name, from: from, to: m.text.Len()})
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
